"""The README's Python examples run as written and print what their comments say; its commands and files exist."""

import contextlib
import io
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from react_text.cli import COMMANDS, main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?ms)^```python\n(.*?)^```$", README)


@pytest.mark.parametrize("block", BLOCKS, ids=range(1, len(BLOCKS) + 1))
def test_an_example_runs_and_prints_what_its_comments_say(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    promised = re.findall(r"(?m)^print\(.*\)  # (.+)$", block)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "README.md", "exec"), {"__name__": "readme"})
    assert printed.getvalue().splitlines() == promised


def test_every_command_is_named_and_exists():
    (named,) = re.findall(r"(?m)^`react-text run`, (.+?); each has `--help`", README)
    commands = ["run", *re.findall(r"`(\w+)`", named)]
    assert sorted(commands) == sorted(COMMANDS)
    for command in commands:
        assert CliRunner().invoke(main, [command, "--help"]).exit_code == 0


def test_every_flag_the_readme_names_is_known():
    commands = [main.get_command(click.Context(main), name) for name in COMMANDS]
    known = {option for command in commands for one in command.params for option in one.opts}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README)) - {"--help", "--strict", "--no-deps"} <= known


def test_every_make_target_the_readme_names_exists():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"(?m)^    make (\w+)", README):
        assert re.search(rf"(?m)^{target}:", makefile), target


def test_every_file_the_readme_links_to_exists():
    for path in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / path).exists(), path
