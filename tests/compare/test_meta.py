"""What a run folder says of the run."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from react_text.backends.scripted import Scripted
from react_text.compare.arms import Settings
from react_text.compare.meta import describe, loaded, local_model, machine, served_model
from react_text.compare.runner import Model, Plan
from react_text.compare.tasks import load_tasks


def test_a_local_model_is_known_by_the_digest_of_its_file_and_not_by_its_place(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(b"GGUF and more")
    model = local_model("tiny", path)
    assert model["digest"] == hashlib.sha256(b"GGUF and more").hexdigest()
    assert model["path_name"] == "tiny.gguf"
    assert str(tmp_path) not in json.dumps(model)


def test_what_the_backend_says_of_itself_is_added_once_it_is_loaded() -> None:
    backend = Scripted([])
    backend.architecture, backend.parameter_count = "llama", 135  # type: ignore[attr-defined]
    model = loaded(served_model("m"), backend)
    assert (model["family"], model["parameters"]) == ("llama", 135)
    assert loaded(served_model("m"), Scripted([]))["family"] is None


def test_the_description_names_tasks_arms_seeds_and_the_command() -> None:
    tasks = load_tasks(["builtin"], "dev", 5)
    plan = Plan(
        tasks, [Model("m", lambda: Scripted([]))], ("text", "auto"), seeds=(4, 5), settings=Settings(label="bare")
    )
    meta = describe(plan, [served_model("m")], "react-text compare --model m")
    assert meta["format"] == 1
    assert meta["tasks"] == {"source": "builtin", "count": 5, "digest": tasks.digest, "split": "dev"}
    assert (meta["seed"], meta["seeds"], meta["arms"]) == (4, [4, 5], ["text bare", "auto bare"])
    assert meta["settings"]["max_steps"] == 6
    assert meta["command"] == "react-text compare --model m"
    assert json.loads(json.dumps(meta)) == meta


def test_the_machine_is_described_without_its_name() -> None:
    import platform

    found = machine()
    assert found["cores"] >= 1
    assert found["memory"] is None or found["memory"] > 0
    assert platform.node() not in json.dumps(found)
