"""Tools from a file: Python functions, a JSON list of chat-completions tool dicts, or an OpenAPI document.

A Python file is run, as any module that is imported; nothing here runs a tool.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import json
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from react_text import schema
from react_text.adapters.module import module_tools, offered
from react_text.adapters.openapi import openapi_tools
from react_text.errors import ToolDefinitionError, ToolsFileError
from react_text.toolbox import Toolbox
from react_text.tools import Tool, as_tools


def load_tools(
    path: str | Path,
    *,
    hosts: Iterable[str] = (),
    base_url: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Toolbox:
    """The tools of FILE.py, of an importable module by its name, of TOOLS.json, or of an OpenAPI file in JSON or YAML.

    Of Python these are the Tool objects at the top level, or else every public function that is defined there or listed
    in `__all__`. `hosts`, `base_url` and `headers` are for the operations of an API, as in `openapi_tools`.
    Raises ToolsFileError or ToolSourceError where the file cannot be used and ToolDefinitionError where a function
    cannot be a tool.
    """
    if (module := _module_named(str(path))) is not None:
        return Toolbox(module_tools(module))
    path = Path(path).expanduser()
    if path.is_dir():
        raise ToolsFileError(f"{path} is a directory; name a .py file of functions or a .json file of tools.")
    if not path.exists():
        raise ToolsFileError(f"There is no tools file {path}; check the path.")
    if path.suffix == ".py":
        found = _tools_of(_imported(path), path)
    elif path.suffix == ".json":
        read = _json(path)
        if isinstance(read, dict) and {"openapi", "swagger"} & read.keys():
            found = openapi_tools(read, hosts=hosts, base_url=base_url, headers=headers)
        else:
            found = _tools_in_json(read, path)
    elif path.suffix in (".yaml", ".yml"):
        found = openapi_tools(path, hosts=hosts, base_url=base_url, headers=headers)
    else:
        raise ToolsFileError(
            f"{path} is neither a .py, .json nor .yaml file; give the tools file one of these endings."
        )
    return Toolbox(found)


def _module_named(name: str) -> ModuleType | None:
    """The module with this dotted name, unless there is a file of that name or no such module."""
    if not all(part.isidentifier() for part in name.split(".")) or Path(name).exists():
        return None
    try:
        if importlib.util.find_spec(name) is None:
            return None
        with contextlib.redirect_stdout(sys.stderr):
            return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name and name.startswith(error.name):
            return None
        raise ToolsFileError(f"The module {name} does not import: {type(error).__name__}: {error}.") from error


def _imported(path: Path) -> ModuleType:
    path = path.resolve()
    name = f"react_text_tools_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ToolsFileError(f"{path.name} cannot be imported as a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _siblings_importable(path.parent), contextlib.redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        sys.modules.pop(name, None)
        raise ToolsFileError(_import_failure(path, error)) from error
    return module


@contextlib.contextmanager
def _siblings_importable(folder: Path) -> Iterator[None]:
    """The folder comes first while the file is imported, as for a script, and last from then on."""
    entry = str(folder)
    known = entry in sys.path
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        sys.path.remove(entry)
        if not known:
            sys.path.append(entry)


def _import_failure(path: Path, error: BaseException) -> str:
    start = f"The tools file {path.name} does not import"
    if isinstance(error, SyntaxError):
        return f"{start}: line {error.lineno}: {error.msg}."
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    place = f" at line {lines[-1]}" if lines else ""
    if isinstance(error, SystemExit):
        return f'{start}: it ends the program{place}; put that under if __name__ == "__main__".'
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"{start}: there is no module {error.name}{place}; install it or put it beside the file."
    said = str(error).strip().splitlines()
    return f"{start}: {type(error).__name__}{place}" + (f": {said[0]}" if said else ".")


def _tools_of(module: ModuleType, path: Path) -> list[Tool]:
    found = offered(module)
    if not found:
        raise ToolsFileError(f"{path} defines no tools; write a public function with typed parameters in it.")
    try:
        return list(as_tools(found))
    except ToolDefinitionError as error:
        advice = "A function that is no tool gets a name that starts with _."
        raise ToolDefinitionError(f"{path.name}: {error} {advice}") from None


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise ToolsFileError(f"{path} is not UTF-8 text; save it as UTF-8.") from None
    except OSError as error:
        raise ToolsFileError(f"{path} cannot be read: {error.strerror}.") from None
    except RecursionError:
        raise ToolsFileError(f"{path} is nested too deeply to be a list of tools.") from None
    except json.JSONDecodeError as error:
        raise ToolsFileError(f"{path} is not JSON: line {error.lineno}, column {error.colno}: {error.msg}.") from None


def _tools_in_json(read: Any, path: Path) -> list[Tool]:
    items = read.get("tools", [read]) if isinstance(read, dict) else read
    if not isinstance(items, list) or not items:
        raise ToolsFileError(f"{path} holds no tools; write a list of chat-completions tool dicts.")
    return [_described(item, path, number) for number, item in enumerate(items, 1)]


def _described(item: Any, path: Path, number: int) -> Tool:
    inner = item.get("function", item) if isinstance(item, dict) else None
    if not isinstance(inner, dict) or not isinstance(inner.get("name"), str) or not inner["name"]:
        raise ToolsFileError(f'Tool {number} in {path} has no name; write {{"name": ..., "parameters": {{...}}}}.')
    made = Tool.from_dict(item)
    schema.check_schema(made.parameters, made.name)
    return made
