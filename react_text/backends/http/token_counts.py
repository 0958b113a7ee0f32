"""How many tokens a conversation has, as the server's own tokenizer and template count it, where it has pages for that.

Generators of small questions; nothing is generated.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, TypeAlias

from react_text.backends.http.address import Address
from react_text.backends.http.connection import Answer, Ask

Counting: TypeAlias = Generator[Ask, "Answer | None", "int | None"]


def counting(server: str) -> Callable[[Address, Mapping[str, Any]], Counting] | None:
    """How this kind of server counts the prompt of a request, given its body; None where it cannot."""
    return _COUNTED_BY.get(server)


def _llama_cpp(address: Address, body: Mapping[str, Any]) -> Counting:
    """llama-server writes the prompt with /apply-template and takes it apart with /tokenize."""
    prompt = body.get("prompt")
    if prompt is None:
        wanted = {name: body[name] for name in ("messages", "tools") if name in body}
        prompt = _mapping((yield Ask("POST", f"{address.root}/apply-template", wanted))).get("prompt")
    if not isinstance(prompt, str):
        return None
    question = {"content": prompt, "add_special": True, "parse_special": True}
    tokens = _mapping((yield Ask("POST", f"{address.root}/tokenize", question))).get("tokens")
    return len(tokens) if isinstance(tokens, list) else None


def _vllm(address: Address, body: Mapping[str, Any]) -> Counting:
    """vLLM's /tokenize takes a conversation as it is."""
    names = ("model", "messages", "prompt", "tools", "add_generation_prompt", "continue_final_message")
    wanted = {name: body[name] for name in names if name in body}
    count = _mapping((yield Ask("POST", f"{address.root}/tokenize", wanted))).get("count")
    return count if isinstance(count, int) and count > 0 else None


_COUNTED_BY: dict[str, Callable[[Address, Mapping[str, Any]], Counting]] = {"llama.cpp": _llama_cpp, "vllm": _vllm}


def _mapping(answer: Answer | None) -> Mapping[str, Any]:
    fits = answer is not None and answer.status == 200 and isinstance(answer.value, Mapping)
    return answer.value if answer is not None and fits else {}
