"""Tools from a file, and the sentence for a file that cannot give any."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from react_text.errors import ToolDefinitionError, ToolsFileError
from react_text.messages import Call
from react_text.tools_file import load_tools

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(text: str, name: str = "mytools.py") -> Path:
        path = tmp_path / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    return written


@pytest.fixture(autouse=True)
def restored_imports() -> Iterator[None]:
    paths, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = paths
    for name in set(sys.modules) - modules:
        if name.startswith(("react_text_tools_", "sibling")):
            del sys.modules[name]


def test_public_functions_of_a_file_are_its_tools_in_order(write: Write) -> None:
    path = write(
        '''
        from __future__ import annotations
        import math
        from os.path import join
        from dataclasses import dataclass
        from typing import Literal

        @dataclass
        class Place:
            name: str

        def tide(place: Place, unit: Literal["m", "ft"] = "m") -> str:
            """Tide height.

            Args:
                place: Where.
            """
            return _say(place.name + unit)

        async def echo(words: str) -> str:
            """Say it again."""
            return words

        def _say(text):
            return text

        alias = tide
        constant = 3
        '''
    )
    toolbox = load_tools(path)
    assert toolbox.names == ("tide", "echo")
    assert toolbox["tide"].description == "Tide height."
    assert toolbox["tide"].parameters["properties"]["place"]["description"] == "Where."
    assert toolbox.run(Call("1", "tide", {"place": {"name": "Oban"}})).content == "Obanm"
    assert toolbox.run(Call("1", "echo", {"words": "ay"})).content == "ay"


def test_where_a_file_makes_tools_only_those_count(write: Write) -> None:
    path = write(
        """
        from react_text.tools import tool

        @tool(name="first", safe=True)
        def one(a: int) -> int:
            return a

        def helper(untyped):
            return untyped

        second = tool(lambda q: q, name="second", parameters={"type": "object", "properties": {"q": {}}})
        same = second
        """
    )
    toolbox = load_tools(str(path))
    assert toolbox.names == ("first", "second")
    assert toolbox["first"].safe


def test_a_tools_file_imports_what_stands_beside_it(write: Write) -> None:
    write("def double(x):\n    return 2 * x\n", "sibling_math.py")
    write("LATE = 7\n", "sibling_late.py")
    path = write(
        """
        import sibling_math

        def twice(x: int) -> int:
            return sibling_math.double(x)

        def late() -> int:
            import sibling_late
            return sibling_late.LATE
        """
    )
    toolbox = load_tools(path)
    assert toolbox.run(Call("1", "twice", {"x": 4})).content == "8"
    assert toolbox.run(Call("1", "late")).content == "7"


def test_the_folder_does_not_hide_modules_once_the_file_is_read(write: Write, tmp_path: Path) -> None:
    load_tools(write("def a() -> int:\n    return 1\n"))
    assert sys.path[0] != str(tmp_path)


def test_a_changed_file_is_read_anew(write: Write) -> None:
    load_tools(write("def a() -> int:\n    return 1\n"))
    assert load_tools(write("def other() -> int:\n    return 22\n")).names == ("other",)


def test_what_a_file_prints_does_not_reach_stdout(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    load_tools(write("print('loading')\ndef a() -> int:\n    return 1\n"))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "loading\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def a(:\n    pass\n", "The tools file mytools.py does not import: line 1: invalid syntax."),
        (
            "\n\nimport nowhere_to_be_found\n",
            "does not import: there is no module nowhere_to_be_found at line 3; install it",
        ),
        (
            "from json import nothing_such\n",
            "does not import: ImportError at line 1: cannot import name 'nothing_such'",
        ),
        ("x = 1 / 0\n", "does not import: ZeroDivisionError at line 1: division by zero"),
        ("raise ValueError\n", "does not import: ValueError at line 1."),
        ("import sys\nsys.exit(3)\n", "does not import: it ends the program at line 2; put that under if __name__"),
        ("x = 3\n", "defines no tools; write a public function with typed parameters in it."),
        ("from os.path import join\n", "defines no tools"),
        ("", "defines no tools"),
    ],
)
def test_a_file_without_tools_is_one_sentence(write: Write, text: str, said: str) -> None:
    with pytest.raises(ToolsFileError) as caught:
        load_tools(write(text))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_does_not_import_leaves_no_module_behind(write: Write) -> None:
    before = set(sys.modules)
    with pytest.raises(ToolsFileError):
        load_tools(write("x = 1 / 0\n"))
    assert not [name for name in set(sys.modules) - before if name.startswith("react_text_tools_")]


def test_an_untyped_parameter_is_named_with_the_fix(write: Write) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        load_tools(write("def tide(harbour, days: int = 1):\n    return 1\n"))
    assert str(caught.value) == (
        'mytools.py: The parameter "harbour" of tide() has no type; annotate it, for example harbour: str. '
        "A function that is no tool gets a name that starts with _."
    )


def test_a_file_that_is_not_there_a_directory_and_another_ending(tmp_path: Path) -> None:
    with pytest.raises(ToolsFileError, match=r"There is no tools file .*gone\.py; check the path"):
        load_tools(tmp_path / "gone.py")
    with pytest.raises(ToolsFileError, match="is a directory; name a"):
        load_tools(tmp_path)
    (tmp_path / "tools.txt").write_text("")
    with pytest.raises(ToolsFileError, match=r"is neither a \.py, \.json nor \.yaml file"):
        load_tools(tmp_path / "tools.txt")


INNER: dict[str, Any] = {
    "name": "tide",
    "description": "Tide height.",
    "parameters": {"type": "object", "properties": {"harbour": {"type": "string"}}, "required": ["harbour"]},
}
WRAPPED = {"type": "function", "function": INNER}


@pytest.mark.parametrize("content", [[WRAPPED], {"tools": [WRAPPED]}, [INNER], INNER, WRAPPED])
def test_json_tools_in_every_usual_form(write: Write, content: Any) -> None:
    toolbox = load_tools(write("\ufeff" + json.dumps(content), "tools.json"))
    assert toolbox.names == ("tide",)
    assert toolbox["tide"].parameters == INNER["parameters"]
    assert toolbox["tide"].function is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"name": "a"},\n ]', "is not JSON: line 2, column 2"),
        ("", "is not JSON: line 1, column 1"),
        ("[]", "holds no tools"),
        ("3", "holds no tools"),
        ('{"tools": []}', "holds no tools"),
        ('[{"description": "x"}]', "Tool 1 in"),
        ('["tide"]', "Tool 1 in"),
        ('[{"name": "a"}, {"name": ""}]', "Tool 2 in"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_json_without_tools_is_one_sentence(write: Write, text: str, said: str) -> None:
    with pytest.raises(ToolsFileError) as caught:
        load_tools(write(text, "tools.json"))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_json_tools_with_a_broken_schema_or_the_same_name_are_refused(write: Write) -> None:
    broken = {"name": "a", "parameters": {"type": "object", "properties": {"x": {"type": "list"}}}}
    with pytest.raises(ToolDefinitionError, match='write "array"'):
        load_tools(write(json.dumps([broken]), "tools.json"))
    with pytest.raises(ToolDefinitionError, match='Two tools are called "tide"'):
        load_tools(write(json.dumps([INNER, INNER]), "tools.json"))


def test_a_json_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ToolsFileError, match="is not UTF-8 text"):
        load_tools(tmp_path / "tools.json")


def test_a_module_is_named_instead_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "harbor_shop").mkdir()
    (tmp_path / "harbor_shop" / "__init__.py").write_text("")
    (tmp_path / "harbor_shop" / "stock.py").write_text("def lamps() -> int:\n    return 14\n")
    (tmp_path / "harbor_shop" / "broken.py").write_text("import nothing_like_this\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert load_tools("harbor_shop.stock").names == ("lamps",)
    with pytest.raises(ToolsFileError, match=r"There is no tools file harbor_shop\.stok; check the path"):
        load_tools("harbor_shop.stok")
    with pytest.raises(ToolsFileError, match=r"harbor_shop\.broken does not import: .*nothing_like_this"):
        load_tools("harbor_shop.broken")
