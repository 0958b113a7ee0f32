from __future__ import annotations

import os

import pytest

from react_text.backends.llama.threads import (
    decode_threads,
    patient_threads,
    physical_cores,
    prompt_threads,
    usable_cpus,
)


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (2, 1), (4, 3), (9, 8), (64, 8)])
def test_decoding_leaves_a_core_free_and_stays_below_a_cap(cores: int, threads: int) -> None:
    assert decode_threads(cores) == threads


def test_prompts_use_every_processor() -> None:
    assert [prompt_threads(count) for count in (1, 2, 16)] == [1, 2, 16]


def test_this_machine_has_no_more_cores_than_processors() -> None:
    assert 1 <= physical_cores() <= usable_cpus() <= (os.cpu_count() or 1)


def test_waiting_threads_sleep_only_while_the_library_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    with patient_threads():
        assert os.environ["OMP_WAIT_POLICY"] == "passive"
    assert "OMP_WAIT_POLICY" not in os.environ


def test_a_policy_that_the_user_set_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    with patient_threads():
        assert os.environ["OMP_WAIT_POLICY"] == "active"
    assert os.environ["OMP_WAIT_POLICY"] == "active"
