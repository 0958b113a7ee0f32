from __future__ import annotations

import json
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "servers" / "transcripts"


def test_every_recorded_exchange_says_which_fact_it_stands_for() -> None:
    rows = [tuple(line.split("\t")) for line in (FOLDER / "INDEX.tsv").read_text("utf-8").splitlines()[1:]]
    facts = dict(rows)
    assert sorted(facts) == sorted(path.stem for path in FOLDER.glob("*.json"))
    assert len(set(facts.values())) == len(facts)
    assert all(fact.endswith(".") for fact in facts.values())


def test_no_recorded_exchange_holds_a_path_of_the_machine_it_was_made_on() -> None:
    for path in FOLDER.glob("*.json"):
        text = path.read_text("utf-8")
        assert json.loads(text)["response"]["status"]
        assert not [word for word in ("/home/", "/root/", "/tmp/", "C:\\\\") if word in text]
