"""Which server answers at an address and what it says it can do, found without a single generation.

A detection is a generator of small questions (`Ask`) that is sent the answers, so that the synchronous and the
asynchronous connection drive the same one. What each server shows was read from its source, its documentation, or
recorded answers.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from react_text.backends.http.address import Address
from react_text.backends.http.connection import Answer, Ask
from react_text.capabilities import PROBED_MESSAGES, PROBED_TOOL, Finding, finding

Questions: TypeAlias = Generator[Ask, "Answer | None", "Detected"]


@dataclass(frozen=True, slots=True)
class Detected:
    """What a server said. `reached` is False where nothing answered at all; `model` is the one it serves by default."""

    server: str = "unknown"
    model: str = ""
    digest: str = ""
    reached: bool = True
    findings: Mapping[str, Finding] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Listed:
    """The answer to GET /models: the entry of the model asked for, or the first."""

    answer: Answer
    entry: Mapping[str, Any]
    model: str

    @property
    def owner(self) -> str:
        return str(self.entry.get("owned_by") or "").lower()

    @property
    def header(self) -> str:
        return self.answer.headers.get("server", "").lower()


KNOWN_SERVERS: dict[str, dict[str, tuple[Any, str]]] = {
    "llama.cpp": {
        "grammar": ("grammar", "llama-server takes GBNF as grammar"),
        "prefill": ("as_is", "llama-server continues a last assistant message"),
    },
    "llama_cpp.server": {
        "grammar": ("grammar", "llama_cpp.server takes GBNF as grammar"),
        "prefill": ("none", "llama_cpp.server closes a last assistant message"),
        "tools": ("no", "llama_cpp.server leaves calls as text in content unless one tool is named"),
    },
    "vllm": {
        "grammar": ("structured_outputs", "vLLM takes GBNF as structured_outputs.grammar"),
        "prefill": ("flags", "vLLM continues with continue_final_message"),
    },
    "sglang": {
        "grammar": ("ebnf", "SGLang takes GBNF-like grammars as ebnf"),
        "prefill": ("flags", "SGLang continues with continue_final_message"),
    },
    "ollama": {
        "grammar": ("none", "Ollama takes no GBNF from outside"),
        "json_schema": ("response_format", "Ollama takes a JSON Schema as response_format"),
        "prefill": ("none", "Ollama has no documented prefill"),
    },
    "lm-studio": {
        "grammar": ("none", "LM Studio lists no grammar among its parameters"),
        "json_schema": ("response_format", "LM Studio takes a JSON Schema as response_format"),
    },
    "tgi": {
        "grammar": ("none", "TGI takes JSON and regular expressions only"),
        "regex": ("response_format", "TGI takes a regular expression as response_format"),
        "json_schema": ("response_format", "TGI takes a JSON Schema as response_format"),
        "tools": ("yes", "TGI constrains every model to a call"),
    },
    "koboldcpp": {"grammar": ("grammar", "KoboldCpp takes GBNF as grammar")},
    "text-generation-webui": {"grammar": ("grammar_string", "text-generation-webui takes grammar_string")},
    "tabbyapi": {"grammar": ("grammar_string", "TabbyAPI takes GBNF as grammar_string")},
    "localai": {
        "grammar": ("grammar", "LocalAI's llama.cpp backend takes grammar"),
        "tools": ("yes", "LocalAI builds a grammar from the tools"),
    },
    "mlx-lm": {"grammar": ("none", "mlx-lm's server knows no grammar")},
    "openrouter": {
        "grammar": ("none", "OpenRouter takes no grammar"),
        "json_schema": ("response_format", "OpenRouter takes a JSON Schema as response_format"),
    },
    "litellm": {},
    "openai": {
        "grammar": ("none", "OpenAI's chat completions take no grammar"),
        "json_schema": ("response_format", "OpenAI's chat completions take a JSON Schema as response_format"),
        "tools": ("yes", "OpenAI's models take tools unless they refuse them"),
    },
}
"""What is known of a kind of server without asking: fact, value, evidence."""

HOSTED = {"api.openai.com": "openai", "openrouter.ai": "openrouter"}

_OWNERS = {
    "llamacpp": "llama.cpp",
    "vllm": "vllm",
    "sglang": "sglang",
    "library": "ollama",
    "tabbyapi": "tabbyapi",
    "organization_owner": "lm-studio",
    "koboldcpp": "koboldcpp",
}
"""`owned_by` of a listed model, as each server writes it."""


def detect(address: Address, model: str) -> Questions:
    """Ask which server it is and what it can do; at most a handful of GETs, answered from memory by the server."""
    first = yield Ask("GET", f"{address.base}/models")
    hosted = next((kind for host, kind in HOSTED.items() if f".{address.host}".endswith(f".{host}")), None)
    if first is None and hosted is None:
        return Detected(reached=False)
    listed = _listed(first, model)
    server = hosted or _by_listing(listed) or (yield from _by_signature(address))
    details = _DETAILS.get(server)
    found = {fact: finding(*known) for fact, known in KNOWN_SERVERS.get(server, {}).items()}
    found["server"] = finding(
        server, "the server's own answers" if server != "unknown" else "no known sign of any server"
    )
    digest = ""
    if details is not None:
        more, digest = yield from details(address, listed)
        found |= more
    return Detected(server, listed.model, digest, True, found)


def _listed(answer: Answer | None, model: str) -> _Listed:
    answer = answer or Answer(0, {}, None)
    entries = _objects(_mapping(answer.value).get("data"))
    entry = next((one for one in entries if model and one.get("id") == model), entries[0] if entries else {})
    return _Listed(answer, entry, model or str(entry.get("id") or ""))


def _by_listing(listed: _Listed) -> str | None:
    if listed.header.startswith("llama.cpp"):
        return "llama.cpp"
    if kind := _OWNERS.get(listed.owner):
        return kind
    if listed.header.startswith("basehttp/"):
        return "mlx-lm"
    if "permissions" in listed.entry and listed.owner == "me":
        return "llama_cpp.server"
    if any(name.startswith("x-litellm") for name in listed.answer.headers):
        return "litellm"
    return None


_SIGNATURES: tuple[tuple[str, str, Callable[[Mapping[str, Any]], bool]], ...] = (
    ("/api/version", "ollama", lambda value: set(value) == {"version"}),
    ("/props", "llama.cpp", lambda value: "default_generation_settings" in value),
    ("/api/extra/version", "koboldcpp", lambda value: "kobold" in str(value.get("result", "")).lower()),
    ("/info", "tgi", lambda value: "router" in value or "max_total_tokens" in value),
    ("/v1/internal/model/info", "text-generation-webui", lambda value: "model_name" in value),
    ("/v1/models/capabilities", "localai", lambda value: "data" in value),
)
"""Pages that only one kind of server has, for those that do not sign their list of models."""


def _by_signature(address: Address) -> Generator[Ask, Answer | None, str]:
    for path, kind, fits in _SIGNATURES:
        answer = yield Ask("GET", address.root + path)
        if answer is not None and answer.status == 200 and isinstance(answer.value, Mapping) and fits(answer.value):
            return kind
    return "unknown"


_Found: TypeAlias = tuple[dict[str, Finding], str]
_Details: TypeAlias = Generator[Ask, "Answer | None", _Found]


def _llama_cpp(address: Address, listed: _Listed) -> _Details:
    """Context and template from /props; the template is then rendered with a tool, which costs no token."""
    answer = yield Ask("GET", f"{address.root}/props")
    props = _object(answer)
    found: dict[str, Finding] = {}
    meta = _mapping(listed.entry.get("meta"))
    found |= _context(_mapping(props.get("default_generation_settings")) or meta, "n_ctx", "/props: n_ctx")
    caps = _mapping(props.get("chat_template_caps"))
    rendered = yield Ask(
        "POST", f"{address.root}/apply-template", {"messages": list(PROBED_MESSAGES), "tools": [PROBED_TOOL]}
    )
    prompt = _object(rendered).get("prompt")
    if rendered is not None and rendered.status >= 400 and "jinja" in rendered.text.lower():
        found["tools"] = finding("no", "the server was started without --jinja")
    elif isinstance(prompt, str) and PROBED_TOOL["function"]["name"] not in prompt:
        found["tools"] = finding("no", "/apply-template: the chat template leaves the tools out of the prompt")
    elif caps.get("supports_tools") is False and caps.get("supports_tool_calls") is False and prompt is None:
        found["tools"] = finding("no", "/props: the chat template supports no tools")
    elif isinstance(prompt, str):
        found["tools"] = finding("yes", "/apply-template: the chat template writes the tools into the prompt")
    signs = [props.get(name) for name in ("model_path", "model_ftype", "build_info", "chat_template")]
    verdict = found["tools"].value if "tools" in found else ""
    return found, _hash([*signs, meta.get("n_params"), verdict])


def _vllm(address: Address, listed: _Listed) -> _Details:
    found = _context(listed.entry, "max_model_len", "/v1/models: max_model_len")
    version = str(_object((yield Ask("GET", f"{address.root}/version"))).get("version") or "")
    number = re.match(r"v?(\d+)\.(\d+)", version)
    if number and (int(number[1]), int(number[2])) < (0, 12):
        found["grammar"] = finding("guided_grammar", f"vLLM {version} takes guided_grammar")
    return found, ""


def _sglang(address: Address, listed: _Listed) -> _Details:
    found = _context(listed.entry, "max_model_len", "/v1/models: max_model_len")
    info: Mapping[str, Any] = {}
    for page in ("/model_info", "/get_model_info"):
        info = _object((yield Ask("GET", address.root + page)))
        if info:
            break
    if "tool_call_parser" in info:
        parser = info["tool_call_parser"]
        found["tools"] = (
            finding("yes", f"/model_info: tool_call_parser is {parser}")
            if parser
            else finding("no", "/model_info: no tool_call_parser, calls stay in content")
        )
    return found, ""


def ollama_details(address: Address, model: str) -> _Details:
    """Capabilities, context and digest from Ollama's own pages."""
    shown = yield Ask("POST", f"{address.root}/api/show", {"model": model})
    show = _object(shown)
    found: dict[str, Finding] = {}
    abilities = show.get("capabilities")
    if isinstance(abilities, list):
        able = "tools" in abilities
        found["tools"] = finding(
            "yes" if able else "no", f"/api/show: capabilities are {', '.join(map(str, abilities))}"
        )
    info = show.get("model_info")
    for name, value in _mapping(info).items():
        if name.endswith(".context_length") and _is_count(value):
            found["context_length"] = finding(value, f"/api/show: {name}")
    tags = _objects(_object((yield Ask("GET", f"{address.root}/api/tags"))).get("models"))
    names = (model, model if ":" in model else f"{model}:latest")
    digests = [str(one.get("digest") or "") for one in tags if one.get("name") in names or one.get("model") in names]
    return found, digests[0] if digests else ""


def _ollama(address: Address, listed: _Listed) -> _Details:
    found, digest = yield from ollama_details(address, listed.model)
    # the server cuts prompts at its own num_ctx, which nothing over /v1 tells
    found.pop("context_length", None)
    return found, digest


def _lm_studio(address: Address, listed: _Listed) -> _Details:
    found: dict[str, Finding] = {}
    for page, key in (("/api/v1/models", "models"), ("/api/v0/models", "data")):
        for entry in _objects(_object((yield Ask("GET", address.root + page))).get(key)):
            if listed.model not in (entry.get("key"), entry.get("id")):
                continue
            able = entry.get("capabilities")
            trained = bool(_mapping(able).get("trained_for_tool_use")) or (
                isinstance(able, list) and "tool_use" in able
            )
            said = "trained" if trained else "not trained"
            found["tools"] = finding("yes" if trained else "no", f"{page}: the model is {said} for tool use")
            return found, ""
    return found, ""


def _openrouter(_address: Address, listed: _Listed) -> _Details:
    found = _context(listed.entry, "context_length", "/models: context_length")
    parameters = listed.entry.get("supported_parameters")
    if isinstance(parameters, list) and listed.entry.get("id") == listed.model:
        able = "tools" in parameters
        found["tools"] = finding("yes" if able else "no", "/models: supported_parameters")
    return found, ""
    yield  # nothing is asked, but what is called here is a generator of questions


def _tgi(address: Address, _listed: _Listed) -> _Details:
    info = _object((yield Ask("GET", f"{address.root}/info")))
    found = _context(info, "max_total_tokens", "/info: max_total_tokens")
    return found, str(info.get("model_sha") or "")


def _litellm(address: Address, listed: _Listed) -> _Details:
    entries = _objects(_object((yield Ask("GET", f"{address.root}/v1/model/info"))).get("data"))
    found: dict[str, Finding] = {}
    for entry in entries:
        able = _mapping(entry.get("model_info")).get("supports_function_calling")
        if entry.get("model_name") == listed.model and able is not None:
            found["tools"] = finding("yes" if able else "no", "/v1/model/info: supports_function_calling")
    return found, ""


_DETAILS: dict[str, Callable[[Address, _Listed], _Details]] = {
    "llama.cpp": _llama_cpp,
    "vllm": _vllm,
    "sglang": _sglang,
    "ollama": _ollama,
    "lm-studio": _lm_studio,
    "openrouter": _openrouter,
    "tgi": _tgi,
    "litellm": _litellm,
}


def _context(entry: Mapping[str, Any], name: str, evidence: str) -> dict[str, Finding]:
    value = entry.get(name)
    return {"context_length": finding(value, evidence)} if _is_count(value) else {}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _object(answer: Answer | None) -> Mapping[str, Any]:
    if answer is None or answer.status != 200 or not isinstance(answer.value, Mapping):
        return {}
    return answer.value


def _hash(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:16]
