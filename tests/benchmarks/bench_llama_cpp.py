"""What the in-process backend costs with SmolLM2: python tests/benchmarks/bench_llama_cpp.py

Loading, milliseconds a token with and without a grammar, what one look at the grammar costs for one token and for the
whole vocabulary, and how much of six steps is evaluated twice when turns are appended, when a scratchpad is sent again
inside the user turn, and when a step counter stands in the system turn. Figures are medians of three.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from react_text.backends.base import Reply, Request, Sampling
from react_text.backends.llama.grammar import TokenGrammar
from react_text.backends.llama_cpp import LlamaCpp
from react_text.messages import Message, Usage
from react_text.models import resolve_model

QUESTION = [{"role": "user", "content": "What is the weather in Paris?"}]
RULES = "Answer with a thought, then an action and its input, then wait for the observation. " * 12
GRAMMAR = r"""
root ::= " " [^\n]{3,200} "\nAction: " ("weather" | "time") "\nAction Input: {\"city\": \"" [A-Za-z ]{1,12} "\"}"
"""
ROUNDS = 3


def generate(model: LlamaCpp, request: Request) -> Reply:
    *_, last = model.stream(request)
    assert isinstance(last, Reply)
    return last


def milliseconds(action: Callable[[], Any]) -> float:
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        action()
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


def per_token(model: LlamaCpp, grammar: str | None, temperature: float) -> float:
    """Milliseconds for one token of a reply."""
    times = []
    for seed in range(ROUNDS):
        sampling = Sampling(temperature=temperature, seed=seed)
        request = Request(QUESTION, reply_start="Thought:", grammar=grammar, max_tokens=48, sampling=sampling)
        times.append(1000 / generate(model, request).usage.tokens_per_second)
    return statistics.median(times)


def appended(step: int, replies: list[str]) -> list[Message]:
    turns: list[Message] = [{"role": "system", "content": RULES}, *QUESTION]
    for index, reply in enumerate(replies):
        turns.append({"role": "assistant", "content": reply})
        turns.append({"role": "user", "content": f"Observation: {index * 7} degrees, measured at {index}:00."})
    return turns


def counted(step: int, replies: list[str]) -> list[Message]:
    turns = appended(step, replies)
    return [{"role": "system", "content": f"Step {step} of 6. {RULES}"}, *turns[1:]]


def scratchpad(step: int, replies: list[str]) -> list[Message]:
    told = "\n".join(str(turn["content"]) for turn in appended(step, replies)[1:])
    return [{"role": "system", "content": RULES}, {"role": "user", "content": told}]


def six_steps(model: LlamaCpp, shape: Callable[[int, list[str]], list[Message]]) -> tuple[Usage, float]:
    """Token counts of a run, and the share of its prompt tokens that had been evaluated or generated before."""
    model.reset()
    replies: list[str] = []
    usage = Usage()
    for step in range(6):
        request = Request(shape(step, replies), reply_start="Thought:", max_tokens=24, sampling=Sampling(1, seed=step))
        last = generate(model, request)
        replies.append(last.text)
        usage += last.usage
    twice = usage.evaluated + usage.generated - len(model.cached_tokens)
    return usage, twice / usage.prompt_tokens


def main() -> None:
    path = resolve_model("smollm2")
    print(f"load: {milliseconds(lambda: LlamaCpp(path).close()):.0f} ms")
    model = LlamaCpp(path)
    for temperature in (0.0, 1.0):
        for name, grammar in (("free", None), ("grammar", GRAMMAR)):
            print(f"{name}, temperature {temperature}: {per_token(model, grammar, temperature):.1f} ms a token")
    look = TokenGrammar(model._engine, GRAMMAR)
    for count in (1, 64, model._vocabulary.size):
        ids = np.arange(count, dtype=np.int32)
        print(f"grammar asked about {count} tokens: {milliseconds(lambda ids=ids: look.allowed(ids)):.2f} ms")
    look.close()
    for shape in (appended, scratchpad, counted):
        usage, twice = six_steps(model, shape)
        print(f"six steps, {shape.__name__}: {usage.evaluated} of {usage.prompt_tokens} evaluated, {twice:.1%} twice")
    model.close()


if __name__ == "__main__":
    main()
