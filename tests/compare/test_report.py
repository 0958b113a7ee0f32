"""The report of runs: what is counted, joined and set aside, what is said of it, and what the files hold."""

from __future__ import annotations

import json
import math
import random
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from made_runs import meta, record, records, write_run

from react_text import parse
from react_text.cli import main
from react_text.compare import findings, sentences
from react_text.compare.elsewhere import NOT_MEASURED
from react_text.compare.models_page import models_page
from react_text.compare.outputs import laid_out, pieces
from react_text.compare.recommended import recommend
from react_text.compare.report import write_report
from react_text.compare.report_data import read_runs
from react_text.compare.report_markdown import markdown
from react_text.compare.report_page import embedded, page
from react_text.errors import RunFolderError
from react_text.parsing.families import FAMILIES
from react_text.tools import Tool

ARMS = ("text", "text+grammar", "structured", "auto")
TIDE = Tool(
    "tide",
    parameters={"type": "object", "properties": {"harbor": {"type": "string"}}, "required": ["harbor"]},
)
HOSTILE = 'Thought: x\nFinal Answer: </script><script>document.title="owned"</script><img src=x onerror=alert(1)> <!--'


@pytest.fixture
def run(tmp_path):
    """A run of one model in four arms over 25 tasks."""
    return write_run(tmp_path / "run", list(records(["made-1"], ARMS, 25)), meta(["made-1"], ARMS))


def lines_of(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()]


def report(*arguments: object):
    return CliRunner().invoke(main, ["report", *map(str, arguments)])


class Page(HTMLParser):
    """What a page holds: its elements with their attributes, and the text of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict]] = []
        self.scripts: list[str] = []
        self.text = ""
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts[-1] += data
        elif self.inside != "style":
            self.text += data

    @property
    def outputs(self) -> list[dict]:
        return json.loads(self.scripts[0])["outputs"]


def test_the_counts_are_those_of_a_plain_recount(run):
    measured = read_runs([run])
    for tally in measured.all.tallies:
        own = [line for line in lines_of(run) if line["arm"] == tally.arm]
        assert tally.n == len(own) == 25
        assert tally.read == Counter(line["outcome"]["read"] for line in own)
        assert sum(tally.solved) == sum(line["outcome"]["solved"] for line in own)
        assert tally.known["right_tool"] == sum(line["outcome"]["right_tool"] is not None for line in own)
        assert tally.yes["right_arguments"] == sum(line["outcome"]["right_arguments"] is True for line in own)
        steps = [step for line in own for step in line["steps"]]
        assert tally.replies == len(steps)
        assert tally.repairs == Counter(name for step in steps for name in set(step["repairs"]))
        assert tally.faults == Counter(step["fault"] for step in steps if step["fault"])
        assert sum(tally.tokens) == sum(line["tokens"] for line in own)
        idle = [line["outcome"] for line in own if not line["needs_call"]]
        assert tally.idle["declined"] == sum(outcome["declined"] for outcome in idle)
        assert sum(tally.idle.values()) == len(idle)


def test_declining_in_words_and_being_unreadable_are_told_apart(tmp_path):
    base = {"strict": False, "right_tool": None, "right_arguments": None}
    outcomes = [
        base | {"read": "repaired", "solved": True, "declined": True, "unreadable": False},
        base | {"read": "failed", "solved": False, "declined": False, "unreadable": True},
        base | {"read": "strict", "solved": False, "declined": False, "unreadable": False},
    ]
    lines = [
        record("made-1", "text", f"t{number}", needs_call=False, outcome=outcome)
        for number, outcome in enumerate(outcomes)
    ]
    (row,) = findings.rows(read_runs([write_run(tmp_path / "run", lines, meta(["made-1"], ["text"]))]).all)
    assert [(rate.k, rate.n) for rate in (row.declined, row.unreadable, row.called)] == [(1, 3)] * 3


def test_joined_runs_count_a_record_once_and_say_so(run, tmp_path):
    more = list(records(["made-1"], ARMS, 30))
    other = write_run(tmp_path / "other", more, meta(["made-1"], ARMS))
    measured = read_runs([run, other])
    assert sum(tally.n for tally in measured.all.tallies) == len(more)
    assert [note for note in measured.notes if note.startswith("100 records of other were already counted")]


def test_the_same_task_name_in_two_task_sets_is_two_tasks(run, tmp_path):
    other = write_run(tmp_path / "other", lines_of(run), meta(["made-1"], ARMS, source="bfcl:simple"))
    measured = read_runs([run, other])
    assert measured.notes == []
    assert [view.name for view in measured.views] == ["all task sets", "builtin (test)", "bfcl:simple (test)"]
    assert [tally.n for tally in measured.all.tallies] == [50] * 4


def test_a_line_cut_off_by_a_kill_is_set_aside_and_nothing_else_is(run):
    before = (run / "records.jsonl").read_bytes()
    (run / "records.jsonl").write_bytes(before + before[: len(before) // 300])
    measured = read_runs([run])
    assert sum(tally.n for tally in measured.all.tallies) == 100
    assert measured.notes == ["The last line of run/records.jsonl is cut off and was set aside."]


def test_damaged_lines_in_the_middle_are_counted_out_with_their_numbers(run):
    lines = (run / "records.jsonl").read_bytes().splitlines(keepends=True)
    lines[3], lines[7] = b'{"half": \n', b"[1, 2]\n"
    (run / "records.jsonl").write_bytes(b"".join(lines))
    measured = read_runs([run])
    assert sum(tally.n for tally in measured.all.tallies) == 98
    assert measured.notes == ["2 lines of run/records.jsonl were set aside as no readable record (lines 4, 8)."]


def test_text_that_strict_json_refuses_is_counted_all_the_same(tmp_path):
    odd = record("made-1", "text", "t1", text="Thought: a\nFinal Answer: \ud800 and 😀 done.", seconds=float("nan"))
    folder = write_run(tmp_path / "run", [], meta(["made-1"], ["text"]))
    (folder / "records.jsonl").write_text(json.dumps(odd) + "\n", encoding="utf-8")
    measured = read_runs([folder])
    assert measured.all.tallies[0].n == 1
    assert measured.notes == []
    assert "😀" in "".join(piece[0] for piece in Page(page(measured)).outputs[0]["steps"][0]["pieces"])


def test_a_run_that_was_stopped_half_way_says_how_much_of_it_there_is(tmp_path):
    about = meta(["made-1"], ARMS, count=30) | {"dialects": ["react"], "seeds": [0]}
    folder = write_run(tmp_path / "run", list(records(["made-1"], ARMS, 25)), about)
    assert read_runs([folder]).notes == [
        "run is not finished: it holds 100 of 120 records. Its command goes on with it."
    ]
    write_run(folder, list(records(["made-1"], ARMS, 30)), about)
    assert read_runs([folder]).notes == []


def test_a_run_without_meta_is_reported_with_a_note(run):
    (run / "meta.json").unlink()
    measured = read_runs([run])
    assert measured.notes == ["run has no readable meta.json: its tasks, settings and machine are unknown."]
    assert "made-1" in page(measured)
    assert "made-1" in markdown(measured)


def test_another_model_file_under_the_same_name_is_another_model(run, tmp_path):
    about = meta(["made-1"], ARMS)
    about["models"][0]["digest"] = "f" * 64
    other = write_run(tmp_path / "other", list(records(["made-1"], ARMS, 25)), about)
    measured = read_runs([run, other])
    assert [name.partition(" (")[0] for name in measured.all.models] == ["made-1", "made-1"]
    assert measured.all.models[1] == "made-1 (ffffffff)"
    text = models_page(measured)
    assert text.index("### made-1 (ffffffff)") < text.index("sha256 ffffffffffffffff") < text.index("| other |")


def test_task_sets_that_differ_under_one_name_are_called_out(run, tmp_path):
    about = meta(["made-1"], ARMS)
    about["tasks"]["digest"] = "f" * 64
    other = write_run(tmp_path / "other", list(records(["made-1"], ARMS, 26)), about)
    assert any("The task set builtin (test) is not the same" in note for note in read_runs([run, other]).notes)


def test_a_run_over_a_part_of_a_task_set_says_how_large_it_is(tmp_path):
    folders = []
    for arm, count in (("text", 9), ("auto", 4)):
        about = meta(["made-1"], [arm], count=count)
        about["tasks"]["digest"] = str(count) * 64
        folders.append(write_run(tmp_path / arm, list(records(["made-1"], [arm], count)), about))
    assert read_runs(folders).notes == [
        "The task set builtin (test) is not the same in all runs: 9 and 4 tasks. Arms are compared on those that both "
        "ran."
    ]


def test_runs_with_other_settings_are_compared_and_not_mixed(run, tmp_path):
    about = meta(["made-1"], ARMS)
    about["settings"] |= {"temperature": 0.7}
    lines = list(records(["made-1"], ARMS, 25))
    for line in lines:
        line["outcome"]["solved"] = True
    measured = read_runs([run, write_run(tmp_path / "warm", lines, about)])
    labels = [findings.label(tally, measured.all) for tally in measured.all.tallies]
    assert labels[:2] == ["text · temperature 0.0", "text · temperature 0.7"]
    assert measured.notes == []
    assert all(tally.n == 25 for tally in measured.all.tallies)
    assert recommend(measured, "made-1").cell.variant == "temperature 0.7"
    assert "temperature 0.7" in Page(page(measured)).text


def test_runs_are_kept_apart_by_their_folders_when_asked(run, tmp_path):
    other = write_run(tmp_path / "later", lines_of(run), meta(["made-1"], ARMS))
    outcome = report(run, other, "--apart", "--out", tmp_path / "both")
    assert outcome.exit_code == 0, outcome.output
    text = (tmp_path / "both" / "report.md").read_text(encoding="utf-8")
    assert (
        "| made-1 | text · later | text · run | 25 |" in text or "| made-1 | text · run | text · later | 25 |" in text
    )


def test_reading_a_run_leaves_its_records_as_they_are(run):
    before = (run / "records.jsonl").read_bytes() + b'{"cut'
    (run / "records.jsonl").write_bytes(before)
    assert report(run).exit_code == 0
    assert (run / "records.jsonl").read_bytes() == before


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_a_paired_interval_holds_its_difference_and_mirrors_when_the_arms_change_places(both, gained, lost, neither):
    n = both + gained + lost + neither
    if not n:
        return
    difference, low, high = findings.paired_interval(both, gained, lost, n)
    assert -1 <= low <= difference <= high <= 1
    assert difference == pytest.approx((gained - lost) / n)
    mirrored = findings.paired_interval(both, lost, gained, n)
    assert mirrored == pytest.approx((-difference, -high, -low))


def test_arms_are_compared_on_the_tasks_and_seeds_that_both_ran(tmp_path):
    def solved(arm, task, yes):
        made = record("made-1", arm, task, text="Thought: a\nFinal Answer: b")
        return made | {"outcome": made["outcome"] | {"solved": yes}}

    lines = [solved("text", f"t{number}", number < 3) for number in range(10)]
    lines += [solved("auto", f"t{number}", number in (2, *range(4, 12))) for number in range(2, 14)]
    (pair,) = findings.paired(read_runs([write_run(tmp_path / "run", lines, meta(["made-1"], ["text", "auto"]))]).all)
    assert (pair.first, pair.second, pair.n, pair.both, pair.gained, pair.lost) == ("text", "auto", 8, 1, 6, 0)
    assert pair.p == pytest.approx(2 * 0.5**6)
    assert pair.difference == pytest.approx(6 / 8)


def test_every_rate_of_the_markdown_stands_with_its_interval_and_counts(run):
    measured = read_runs([run])
    rates = [cell.strip() for cell in markdown(measured).replace("\n", "|").split("|") if " %" in cell and "of" in cell]
    assert len(rates) > 60
    for cell in rates:
        if "after completion" not in cell and not cell.startswith(("#", "-", "*")):
            assert re.fullmatch(r"[\d.]+ % (\([\d.]+–[\d.]+ %\), [\d,]+ of [\d,]+|of [\d,]+)", cell), cell
    row = findings.rows(measured.all)[0]
    low, high = row.failed.low, row.failed.high
    assert f"({100 * low:.0f}–{100 * high:.0f} %), {row.failed.k} of 25" in markdown(measured)


def test_the_headline_names_the_best_arm_with_its_share(run):
    measured = read_runs([run])
    top = max(findings.rows(measured.all), key=lambda row: row.solved.share)
    sentence = sentences.headline(measured.all)
    assert sentence.startswith(f"made-1 solved {100 * top.solved.share:.0f} % of its tasks with ")
    assert markdown(measured).startswith(f"# {sentence}")
    assert sentence.replace(" %", "\u00a0%") in Page(page(measured)).text


def test_where_auto_does_worse_the_report_says_so_and_why(tmp_path):
    lines = list(records(["made-1"], ["text", "auto"], 30))
    for line in lines:
        line["outcome"]["solved"] = line["arm"] == "text" or line["task"].endswith("1")
    measured = read_runs([write_run(tmp_path / "run", lines, meta(["made-1"], ["text", "auto"]))])
    (sentence,) = sentences.auto_checks(measured)
    assert "auto is less accurate than text here (text: 3 against 30 of the same 30, −90.0 points" in sentence
    assert "changed its mode in" in sentence


def test_the_page_needs_nothing_from_elsewhere(run):
    found = Page(page(read_runs([run])))
    for tag, attributes in found.elements:
        for name in ("src", "href", "action", "data"):
            value = attributes.get(name) or "#"
            assert value.startswith(("#", "data:,")), f"{tag} {name}={value}"
    assert "default-src 'none'" in next(a["content"] for t, a in found.elements if a.get("http-equiv"))


def test_what_a_model_wrote_cannot_leave_the_data_of_the_page(tmp_path):
    name = "<b>made</b>&\"'"
    lines = [record(name, arm, f"t{number}", text=HOSTILE) for number in range(3) for arm in ("text", "<i>arm</i>")]
    for line in lines:
        line |= {"question": HOSTILE, "answer": HOSTILE, "category": "<u>kind</u>", "stop_reason": "<s>stop</s>"}
    about = meta([name], ["text"]) | {"command": "react-text <script>", "settings": {"<a>": "</a>"}}
    measured = read_runs([write_run(tmp_path / "run", lines, about)])
    found = Page(page(measured, title="<title>"))
    assert len(found.scripts) == 2
    assert {tag for tag, _ in found.elements} & {"img", "u", "s"} == set()
    assert found.outputs[0]["question"] == HOSTILE
    assert "".join(piece[0] for piece in found.outputs[0]["steps"][0]["pieces"]) == HOSTILE
    assert name in found.text
    prose = [line for line in markdown(measured).splitlines() if not line.startswith("    ")]
    assert "<script" not in "".join(prose)


@given(st.text())
def test_embedded_json_holds_no_sign_that_html_reads(text):
    written = embedded({"text": text})
    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written) == {"text": text}


@given(
    st.text(max_size=80),
    st.lists(st.tuples(st.integers(-3, 90), st.integers(-3, 90)), max_size=6),
    st.lists(st.integers(0, 80), min_size=3, max_size=9),
)
def test_the_pieces_of_a_reply_are_the_reply(text, spans, cuts):
    edges = sorted(min(cut, len(text)) for cut in cuts)
    sections = [("thought", a, b, c) for a, b, c in zip(edges[::3], edges[1::3], edges[2::3], strict=False)]
    assert "".join(piece[0] for piece in pieces(text, sections, spans)) == text


def test_sections_labels_and_repairs_of_a_reply_are_marked():
    reply = "Thought: I look.\n**Action**: `Tide`\nAction Input: {'harbor': 'Oban'}\nObservation: 5"
    made = record("made-1", "text", "t1", text=reply)
    turn = parse(reply, [TIDE])
    made["steps"][0]["edits"] = [
        {"name": e.name, "before": e.before, "after": e.after, "span": e.span} for e in turn.edits
    ]
    made |= {"tools": ["tide"]}
    (shown,) = laid_out(made | {"steps": [made["steps"][0] | {"cut": 0}]})["steps"]
    kinds = {text.strip(): kind for text, kind, _ in shown["pieces"]}
    assert kinds["Thought:"] == "thought-label"
    assert kinds["Action Input:"] == "input-label"
    assert kinds["I look."] == "thought"
    assert any(kind == "ignored" and "Observation: 5" in text for text, kind, _ in shown["pieces"])
    marked = {number for _, _, numbers in shown["pieces"] for number in numbers}
    assert marked == {number for number, edit in enumerate(turn.edits) if edit.span and edit.span[0] < edit.span[1]}


def test_all_unreadable_outputs_are_shown_before_a_sample_of_the_others(run):
    measured = read_runs([run], outputs=40)
    failed = {line["key"] for line in lines_of(run) if line["outcome"]["read"] == "failed"}
    shown = [output["key"] for output in measured.outputs]
    assert len(shown) == 40
    assert set(shown[: len(failed)]) == failed
    assert f"all {len(failed)} that could not be read" in sentences.shown_sentence(measured)
    assert "A bounded sample" in sentences.shown_sentence(measured)


def test_where_there_is_room_for_every_output_all_are_shown(run):
    measured = read_runs([run], outputs=500)
    assert len(measured.outputs) == 100
    assert sentences.shown_sentence(measured).startswith("Every output is here")


def test_the_sample_does_not_depend_on_the_order_of_the_records(run, tmp_path):
    lines = lines_of(run)
    random.Random(3).shuffle(lines)
    other = write_run(tmp_path / "other", lines, meta(["made-1"], ARMS))
    first, second = ([line["key"] for line in read_runs([folder], outputs=30).outputs] for folder in (run, other))
    assert first == second


def test_a_recommendation_is_chosen_on_development_tasks_and_reported_on_the_others(tmp_path):
    def lines(arm_that_wins):
        for line in records(["made-1"], ["text", "auto"], 20):
            line["outcome"]["solved"] = line["arm"] == arm_that_wins
            yield line

    dev = write_run(tmp_path / "dev", list(lines("text")), meta(["made-1"], ["text", "auto"], "bfcl:simple", "dev"))
    test = write_run(tmp_path / "test", list(lines("auto")), meta(["made-1"], ["text", "auto"], "bfcl:multiple"))
    measured = read_runs([dev, test])
    chosen = recommend(measured, "made-1")
    assert chosen.cell.arm == "text"
    assert [view.name for view in chosen.held_out] == ["bfcl:multiple (test)"]
    text = models_page(measured)
    assert "bfcl:multiple (test) had no part in the choice" in text
    assert "On bfcl:multiple (test): 0 % (0–16 %), 0 of 20 solved." in text


def test_a_recommendation_made_on_the_reported_tasks_says_so(run):
    text = models_page(read_runs([run]))
    assert "The choice was made on the same tasks as are reported here" in text
    assert "    react-text compare --model made-1 --tasks builtin --out RUN" in text


@pytest.mark.parametrize("entry", NOT_MEASURED, ids=lambda entry: entry.models)
def test_the_examples_of_models_not_measured_are_read_by_the_parser(entry):
    turn = parse(entry.example, [TIDE])
    assert [(call.name, dict(call.arguments)) for call in turn.calls] == [("tide", {"harbor": "Oban"})]
    assert set(entry.rows) <= {family.name for family in FAMILIES}


def test_the_command_writes_both_reports_beside_the_records(run):
    outcome = report(run)
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stdout.split() == [str(run / "report.html"), str(run / "report.md")]
    assert outcome.stderr == ""
    assert (run / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_command_joins_runs_into_a_folder_and_writes_models_md(run, tmp_path):
    other = write_run(tmp_path / "other", list(records(["made-2"], ARMS, 8)), meta(["made-2"], ARMS))
    outcome = report(run, other, "--out", tmp_path / "joined", "--models-md", tmp_path / "models.md")
    assert outcome.exit_code == 0, outcome.output
    assert "2 models" in (tmp_path / "joined" / "report.html").read_text(encoding="utf-8")
    text = (tmp_path / "models.md").read_text(encoding="utf-8")
    assert "### made-1" in text
    assert "### made-2" in text
    assert text.index("## Not measured here") > text.index("### made-2")


def test_several_runs_without_a_place_for_the_report_are_refused(run, tmp_path):
    other = write_run(tmp_path / "other", [], meta(["made-1"], ARMS))
    outcome = report(run, other)
    assert outcome.exit_code == 2
    assert "--out" in outcome.stderr


@pytest.mark.parametrize("made", ["nothing", "empty"])
def test_a_folder_without_records_is_explained(tmp_path, made):
    folder = tmp_path / "run"
    folder.mkdir()
    if made == "empty":
        write_run(folder, [], meta(["made-1"], ARMS))
    outcome = report(folder)
    assert outcome.exit_code == 2
    assert "Traceback" not in outcome.output
    assert "run" in outcome.stderr


def test_a_place_that_cannot_be_written_is_named(run, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="choose another place"):
        write_report(read_runs([run]), tmp_path / "file" / "under")


def test_several_seeds_of_a_task_bring_a_warning_about_the_intervals(tmp_path):
    lines = list(records(["made-1"], ["text"], 5, seeds=3))
    measured = read_runs([write_run(tmp_path / "run", lines, meta(["made-1"], ["text"]))])
    assert measured.all.tallies[0].n == 15
    assert any("several seeds" in note for note in sentences.reading_notes(measured))


def test_a_run_of_one_record_is_a_report_too(tmp_path):
    lines = [record("made-1", "text", "t1", seconds=0.0, tokens=0, steps=[])]
    measured = read_runs([write_run(tmp_path / "run", lines, meta(["made-1"], ["text"]))])
    assert not math.isnan(findings.rows(measured.all)[0].tokens)
    assert "made-1" in page(measured)
    assert "made-1" in models_page(measured)


def test_a_missing_extra_is_answered_with_the_install_line(run):
    code = f"import sys; sys.modules['msgspec'] = None\nfrom react_text.cli import main\nmain(['report', {str(run)!r}])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert out.returncode == 2
    assert "pip install 'react-text[compare]'" in out.stderr.replace("\n", " ")
