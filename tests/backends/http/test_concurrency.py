"""Many runs at once against one server: nothing of one shows in another, connections are few, memory stays flat."""

from __future__ import annotations

import asyncio
import gc
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from standin import StandIn, Wire, chat, events

from react_text import Agent
from react_text.backends.openai import OpenAICompatible
from react_text.capability_store import CapabilityStore
from react_text.events import Result

Start = Callable[[Callable[[Wire], None]], StandIn]
RUNS = 64
CONNECTIONS = 8


def find(name: str) -> str:
    """Find a thing by its name."""
    return f"{name} is in room {int(name.split()[-1]) * 7}"


def pieces(text: str) -> list[str]:
    return [text[at : at + 8] for at in range(0, len(text), 8)]


def numbered(wire: Wire) -> None:
    """A model that looks up the item of the question and says what it was told; every number is that of one run."""
    messages = wire.received.body["messages"]
    number = re.findall(r"item (\d+)\?", json.dumps(messages))[-1]
    results = re.findall(r"item (\d+) is in room (\d+)", json.dumps(messages[-1]))
    structured = "tools" in wire.received.body
    if results:
        said = f"Item {number} is in {results[-1][1]}."
        wire.stream(events(*pieces(said if structured else f"Thought: I know.\nFinal Answer: {said}")))
    elif structured:
        function = {"name": "find", "arguments": json.dumps({"name": f"item {number}"})}
        delta = {"role": "assistant", "content": "", "tool_calls": [{"index": 0, "id": "same", "function": function}]}
        wire.stream([f"data: {json.dumps({'choices': [{'delta': delta, 'finish_reason': 'tool_calls'}]})}\n\n"])
    else:
        wire.stream(events(*pieces(f'Thought: I look.\nAction: find\nAction Input: {{"name": "item {number}"}}')))


@pytest.mark.parametrize("tools", ["no", "yes"])
def test_64_runs_at_once_keep_to_themselves(standin: Start, store: CapabilityStore, tools: str) -> None:
    server = standin(chat(numbered))

    async def all_of_them() -> list[Result]:
        url = f"{server.url}/v1"
        known = {"tools": tools}
        async with OpenAICompatible(
            url, model="m", known=known, store=store, max_connections=CONNECTIONS, timeout=60.0
        ) as backend:
            await backend.acapabilities()
            agent = Agent(backend, [find])
            return await asyncio.gather(*(agent.arun(f"Where is item {number}?") for number in range(RUNS)))

    for number, result in enumerate(asyncio.run(all_of_them())):
        assert (result.stop_reason, result.answer) == ("answer", f"Item {number} is in {number * 7}.")
        assert set(re.findall(r"item (\d+)", json.dumps(result.messages))) == {str(number)}
        called = [one["id"] for message in result.messages for one in message.get("tool_calls") or ()]
        assert called == [one["tool_call_id"] for one in result.messages if one["role"] == "tool"]
    assert len(server.posted) == 2 * RUNS
    assert server.most_at_once <= CONNECTIONS
    assert server.connections <= 2 * CONNECTIONS


def test_memory_stays_flat_over_many_runs(standin: Start, store: CapabilityStore) -> None:
    server = standin(chat(numbered))

    async def rounds() -> list[int]:
        sizes = []
        async with OpenAICompatible(f"{server.url}/v1", model="m", store=store, timeout=60.0) as backend:
            await backend.acapabilities()
            agent = Agent(backend, [find])
            for _ in range(4):
                await asyncio.gather(*(agent.arun(f"Where is item {number}?") for number in range(24)))
                server.received.clear()
                gc.collect()
                sizes.append(len(gc.get_objects()))
        return sizes

    _, second, _, fourth = asyncio.run(rounds())
    # fewer objects than one conversation has, for 48 runs
    assert fourth - second < 100


def test_a_cancelled_run_ends_and_leaves_the_others_and_their_connections_alone(
    standin: Start, store: CapabilityStore
) -> None:
    def answer(wire: Wire) -> None:
        if "item 0?" in json.dumps(wire.received.body["messages"][-1]):
            wire._start(200, "text/event-stream", {"Connection": "close"})
            wire._handler.wfile.write("".join(events("Thought: ", finish=None, done=False)).encode())
            wire.until_client_leaves()
        else:
            numbered(wire)

    server = standin(chat(answer))

    async def all_of_them() -> list[Any]:
        async with OpenAICompatible(
            f"{server.url}/v1", model="m", store=store, max_connections=2, timeout=60.0
        ) as backend:
            await backend.acapabilities()
            agent = Agent(backend, [find])
            hanging = asyncio.create_task(agent.arun("Where is item 0?"))
            others = [asyncio.create_task(agent.arun(f"Where is item {number}?")) for number in range(1, 9)]
            done = await asyncio.gather(*others)
            hanging.cancel()
            with pytest.raises(asyncio.CancelledError):
                await hanging
            assert await asyncio.to_thread(server.left.wait, 10)
            return done

    assert [one.answer for one in asyncio.run(all_of_them())] == [f"Item {n} is in {n * 7}." for n in range(1, 9)]


def test_what_one_run_learns_of_the_endpoint_counts_for_all(standin: Start, store: CapabilityStore) -> None:
    def answer(wire: Wire) -> None:
        if "tools" in wire.received.body:
            wire.json(400, {"error": {"message": "this model does not support tools"}})
        else:
            numbered(wire)

    server = standin(chat(answer))

    async def all_of_them() -> list[Result]:
        async with OpenAICompatible(f"{server.url}/v1", model="m", store=store, timeout=60.0) as backend:
            await backend.acapabilities()
            await asyncio.to_thread(backend.learn, "tools", "yes", "says the endpoint")
            first = Agent(backend, [find])
            await first.arun("Where is item 1?")
            assert backend.tool_support() == "no"
            again = Agent(backend, [find])
            return await asyncio.gather(*(again.arun(f"Where is item {number}?") for number in range(8)))

    assert [one.mode_changes for one in asyncio.run(all_of_them())] == [()] * 8
    assert len([one for one in server.posted if "tools" in one.body]) == 1


def test_a_failing_run_does_not_fail_the_others(standin: Start, store: CapabilityStore) -> None:
    def answer(wire: Wire) -> None:
        if "item 3?" in json.dumps(wire.received.body["messages"]):
            wire.drop()
        else:
            numbered(wire)

    server = standin(chat(answer))

    async def all_of_them() -> list[Result]:
        async with OpenAICompatible(f"{server.url}/v1", model="m", store=store, backoff=0.001, timeout=60.0) as backend:
            await backend.acapabilities()
            agent = Agent(backend, [find])
            return await asyncio.gather(*(agent.arun(f"Where is item {number}?") for number in range(6)))

    reasons = [one.stop_reason for one in asyncio.run(all_of_them())]
    assert reasons == ["backend_error" if number == 3 else "answer" for number in range(6)]
