"""What is promised of the package as a whole: its public names, its light import, its wheel."""

import subprocess
import sys
import venv
from pathlib import Path

import pytest

import react_text

ROOT = Path(__file__).parent.parent


def test_the_public_names_are_these():
    assert sorted(react_text.__all__) == [
        "Agent",
        "Call",
        "Example",
        "FallbackChat",
        "Fault",
        "LlamaCpp",
        "Observation",
        "Ollama",
        "OpenAICompatible",
        "Scripted",
        "Tool",
        "Toolbox",
        "Turn",
        "Usage",
        "parse",
        "parse_message",
        "tool",
    ]
    assert all(getattr(react_text, name) is not None for name in react_text.__all__)


def test_importing_the_package_loads_nothing_heavy():
    heavy = [
        "llama_cpp",
        "numpy",
        "jinja2",
        "rich",
        "pydantic",
        "jsonschema",
        "tenacity",
        "docstring_parser",
        "click",
        "httpx",
        "starlette",
        "uvicorn",
        "prometheus_client",
    ]
    code = f"from react_text import *; import sys; print([name for name in {heavy} if name in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_a_missing_engine_is_answered_with_the_install_line():
    code = (
        "import sys; sys.modules['llama_cpp'] = None\n"
        "from react_text import LlamaCpp; from react_text.errors import MissingExtra\n"
        "from react_text.models import resolve_model\n"
        "try: LlamaCpp(resolve_model('smollm2'))\n"
        "except MissingExtra as error: print(error)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'react-text[local]'" in out.stdout


@pytest.mark.timeout(240)
def test_the_wheel_works_in_a_fresh_environment(tmp_path):
    """Built, installed without the checkout, asked for a prompt and a grammar: both come from files in the wheel."""
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path / "dist"), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob(f"react_text-{react_text.__version__}-*.whl")
    venv.create(tmp_path / "env", with_pip=True)
    python = str(tmp_path / "env" / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True, capture_output=True)
    tools = tmp_path / "tools.py"
    tools.write_text('def tide(harbor: str) -> float:\n    """Height of the tide in metres."""\n    return 2.5\n')
    command = str(tmp_path / "env" / "bin" / "react-text")
    prompt = subprocess.run(
        [command, "prompt", "How high is the tide in Oban?", "--tools", str(tools)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert "tide(harbor: string) - Height of the tide in metres." in prompt.stdout
    assert "How high is the tide in Oban?" in prompt.stdout
    grammar = subprocess.run(
        [command, "grammar", "--tools", str(tools)], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert "Action: tide" in grammar.stdout
    assert (next((tmp_path / "env").glob("lib/*/site-packages/react_text")) / "py.typed").exists()
