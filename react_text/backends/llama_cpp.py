"""The in-process backend: a GGUF file on llama.cpp, one reply at a time.

Renders messages to tokens, reuses what the KV cache holds of them, samples and streams. The checks around the C
library are in llama/engine.py, the choice of tokens in llama/sampling.py; nothing here knows tools, protocols or turns.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from react_text.backends.base import Delta, FinishReason, Progress, Reply, Request, StreamItem
from react_text.backends.chat_template import RAW_STOPS, TEXT_INSTEAD, ChatTemplate, Piece, render_raw
from react_text.backends.llama.decoding import Chosen, decode
from react_text.backends.llama.engine import PROMPT_CHUNK, Engine
from react_text.backends.llama.forcing import Forcing
from react_text.backends.llama.grammar import TokenGrammar
from react_text.backends.llama.sampling import Sampler
from react_text.backends.llama.scoring import log_probabilities, sure_tokens
from react_text.backends.llama.slots import common_prefix
from react_text.backends.llama.turns import Turns
from react_text.backends.stops import StopStrings
from react_text.capabilities import PROBED_CALL, PROBED_MESSAGES, PROBED_TOOL, Capabilities, Support, template_findings
from react_text.errors import BackendError, ContextOverflow, ToolsRefused
from react_text.messages import Message, Usage
from react_text.protocol.call_format import call_format, call_text, reasoning_in
from react_text.protocol.native_grammar import FORMATS, Reasoning

REMEMBERED_REPLIES = 256
REPEATED_RUN = 16
"""Shortest run of equal tokens that counts as the same stretch of a prompt: shorter ones recur by chance."""
MOST_SURE = 10
"""Tokens that a model is asked to be sure of."""
LEAST_SURE = -0.5
"""The logarithm of the least probability of a token that counts as sure, 0.6. Chosen on development tasks."""


class LlamaCpp:
    """A GGUF model in this process.

    `n_ctx` is the context length in tokens (default: what the model was trained for, at most 4096). `n_threads` are
    the threads for decoding (default: one core fewer than there are, at least 1, at most 8) and `n_threads_batch` those
    for prompt evaluation (default: `n_threads` where given, else every processor). Waiting threads sleep unless
    OMP_WAIT_POLICY says otherwise: `active` is faster with many threads on a machine that does nothing else.
    `n_gpu_layers` of -1 puts all layers on a GPU where llama.cpp was built for one. `slots` conversations are kept at
    once: their threads take turns reply by reply, and none evaluates its prompts again because of the others. Those
    that wait take at most as much memory as the context itself, and the one that waited longest is forgotten first.
    `seed` is used by requests that
    bring none. `chat_template` replaces the file's own template, "" means raw completion; `template_options` are names
    it can read. `on_load` is called with the loaded fraction, 0 to 1, and may raise to stop loading.

    Replies are the same for the same sequence of requests, seeds given or temperature 0. A prompt that was partly
    cached is computed in other batches than a fresh one, which can tip a near tie; `reset` starts afresh.

    Raises ModelFileError for a file that cannot be used, MissingExtra without llama-cpp-python. Threads that
    ask the same model wait their turn; generating twice at once in one thread is a BackendError.
    """

    supports_grammar = True

    def __init__(
        self,
        path: str | Path,
        *,
        n_ctx: int | None = None,
        n_threads: int | None = None,
        n_threads_batch: int | None = None,
        n_gpu_layers: int = 0,
        slots: int = 4,
        seed: int | None = None,
        chat_template: str | None = None,
        template_options: Mapping[str, Any] | None = None,
        on_load: Callable[[float], None] | None = None,
    ) -> None:
        self.path = Path(path).expanduser()
        self.seed = seed
        self._engine = engine = Engine(
            self.path,
            n_ctx=n_ctx,
            n_threads=n_threads,
            n_threads_batch=n_threads_batch,
            n_gpu_layers=n_gpu_layers,
            slots=slots,
            on_load=on_load,
        )
        self._vocabulary = engine.vocabulary
        self.name = self.path.stem
        self.context_length: int | None = engine.context_length
        self.n_threads, self.n_threads_batch = engine.n_threads, engine.n_threads_batch
        self.metadata = dict(engine.metadata)
        self.architecture = engine.metadata.get("general.architecture", "")
        self.parameter_count = engine.parameter_count()
        self.model_description = engine.description()
        self.reevaluated = 0
        """Prompt tokens evaluated again although they were in the cache when their request came, since loading: what
        was lost because something in front of them had changed."""
        self._turns = Turns()
        self._owner: int | None = None
        self._replies: OrderedDict[int, list[tuple[int, ...]]] = OrderedDict()
        self._protected: frozenset[int] = frozenset()
        self._support: Support | None = None
        self._weighed = 0
        self._format: tuple[str | None, ...] = ()
        try:
            self._template = self._compile(chat_template, template_options)
            self._turn_openers, self._protected = self._template_markers()
        except BaseException:
            engine.close()
            raise

    @property
    def has_chat_template(self) -> bool:
        """Whether prompts are rendered by a chat template; without one they are raw labelled text."""
        return self._template is not None

    def render(
        self, messages: Sequence[Message], reply_start: str = "", tools: Sequence[Mapping[str, Any]] = ()
    ) -> tuple[Piece, ...]:
        """What the model is told, piece by piece: the template's own pieces are `special`, contents are not.

        `tools` are chat-completions dicts. Raises ToolsRefused where the template has no place for them.
        """
        if self._template is not None:
            pieces = self._template.render(messages, tools)
        elif tools:
            raise ToolsRefused(
                "This model has no chat template that shows it tools.", reason="tools", hint=TEXT_INSTEAD
            )
        else:
            pieces = render_raw(messages)
        return (*pieces, Piece(reply_start, False)) if reply_start else pieces

    def prompt_text(
        self, messages: Sequence[Message], reply_start: str = "", tools: Sequence[Mapping[str, Any]] = ()
    ) -> str:
        """What the model is told, as one text."""
        return "".join(piece.text for piece in self.render(messages, reply_start, tools))

    def count_tokens(
        self, messages: Sequence[Message], reply_start: str = "", tools: Sequence[Mapping[str, Any]] = ()
    ) -> int:
        """Tokens of the rendered prompt, exactly."""
        return len(self.prompt_tokens(messages, reply_start, tools))

    def tool_support(self) -> Support:
        """Whether the model's own chat template shows it tools, and the calls and results of a conversation."""
        if self._support is None:
            found = template_findings(lambda messages, tools: self.prompt_text(messages, tools=list(tools)))
            self._support = Capabilities(found).tools
        return self._support

    def call_format(self) -> str | None:
        """How this model writes calls when its template shows it tools: a key of `native_grammar.FORMATS`, or None.

        That is the format of its template, or "bare" for a model that is likelier to write plain JSON, as those do that
        were never trained on their template's marks. Evaluates one short prompt, once. None where the template shows
        no tools, writes calls in a format that is not known, or begins them with a control token and has no other way:
        no grammar may bring one about, and the model is then left to write as it was trained.
        """
        if not self._format:
            self._format = (None,)
            # a template may show tools and yet refuse a conversation in which they were called
            with contextlib.suppress(BackendError):
                self._format = (self._written_format() if self.tool_support() == "yes" else None,)
        return self._format[0]

    def reasoning(self) -> Reasoning | None:
        """Whether the chat template begins a reply with the model's reasoning, or knows of reasoning.

        None where it does neither, or where `call_format` is None. Asked with a tool in the conversation.
        """
        family = self.call_format()
        if family is None or self._template is None:
            return None
        prompt = self.prompt_text(PROBED_MESSAGES, tools=[PROBED_TOOL])
        return reasoning_in(family, prompt, self._template.source)

    def _written_format(self) -> str | None:
        function = PROBED_CALL[1]["tool_calls"][0]["function"]
        arguments = json.loads(function["arguments"])
        family = call_format(self.prompt_text(PROBED_CALL, tools=[PROBED_TOOL]), function["name"], arguments)
        if family is None or not FORMATS[family].mark:
            return family
        opening = FORMATS[family].opens or FORMATS[family].mark
        if not FORMATS[family].bare and self._vocabulary.control_ids.intersection(self._tokens(opening, special=True)):
            return None
        texts = [call_text(one, function["name"], arguments) for one in (family, "bare")]
        with self._turn():
            for _ in self._evaluate(self.prompt_tokens(PROBED_MESSAGES, tools=[PROBED_TOOL])):
                pass
            marked, bare = log_probabilities(self._engine, [self._tokens(text, special=True) for text in texts])
        return "bare" if bare > marked else family

    def prompt_tokens(
        self, messages: Sequence[Message], reply_start: str = "", tools: Sequence[Mapping[str, Any]] = ()
    ) -> list[int]:
        """Token ids of the rendered prompt. Replies this model wrote keep the tokens they were sampled as."""
        ids: list[int] = []
        for piece in self.render(messages, tools=tools):
            if piece.reply:
                ids += self._reply_tokens(ids, piece.text)
            else:
                ids += self._tokens(piece.text, special=piece.special)
            if self._vocabulary.adds_bos and ids and ids[0] != self._vocabulary.bos:
                ids.insert(0, self._vocabulary.bos)
        return ids + self._reply_tokens(ids, reply_start)

    def piece(self, token: int) -> bytes:
        """The bytes one token stands for; a control token gives its name."""
        return self._vocabulary.piece(token)

    def marker(self, text: str) -> int | None:
        """The id of the one token that `text` is as a marker of the template, or None."""
        ids = self._tokens(text, special=True)
        return ids[0] if len(ids) == 1 else None

    @property
    def cached_tokens(self) -> tuple[int, ...]:
        """The tokens whose keys and values are in the cache for the latest conversation, prompt and reply."""
        return tuple(self._engine.cached)

    def stream(self, request: Request) -> Iterator[StreamItem]:
        """Generate one reply: Progress items, Delta items, one Reply. Close the iterator to cancel."""
        with self._turn():
            opening = self.prompt_tokens(request.messages, tools=request.tools)
            prompt = opening + self._reply_tokens(opening, request.reply_start)
            if not prompt:
                raise BackendError("The request holds no text; give at least one message.")
            if len(prompt) >= self._engine.context_length:
                raise ContextOverflow(len(prompt), self._engine.context_length)
            with contextlib.ExitStack() as cleanup:
                grammar = None
                if request.grammar is not None:
                    checked = TokenGrammar(self._engine, request.grammar)
                    cleanup.callback(checked.close)
                    grammar = Forcing(checked, self._vocabulary, self._tokens)
                sampling = request.sampling
                seed = next((one for one in (sampling.seed, self.seed) if one is not None), secrets.randbits(32))
                sampler = Sampler(sampling, seed & 0xFFFFFFFFFFFFFFFF, grammar)
                sampled: list[int] = []
                cleanup.callback(self._remember, opening, prompt[len(opening) :], sampled)
                reused, seconds = yield from self._evaluate(prompt, len(opening))
                evaluated = len(prompt) - reused + self._weighed
                self._weighed = 0
                usage = Usage(evaluated=evaluated, reused=reused, prompt_seconds=seconds)
                ends = self._vocabulary.end_ids | self._turn_openers
                chosen = decode(self._engine, sampler, grammar, ends)
                yield from self._generate(request, chosen, ends, sampled, usage)

    def log_probabilities(
        self, messages: Sequence[Message], reply_start: str, continuations: Sequence[str], **rendering: Any
    ) -> tuple[float, ...]:
        """How likely each text is to come next, once the reply has got as far as `reply_start`: a natural logarithm.

        Each text is spelled in the tokens it has by itself; other spellings are not counted. `rendering` is what else
        `prompt_tokens` takes. What the cache holds of the prompt is not evaluated again, and the next request finds
        the prompt there; what is evaluated counts with that request. Raises ContextOverflow where prompt and text do
        not fit the context.
        """
        with self._turn():
            before = self._engine.evaluated
            opening = self.prompt_tokens(messages, **rendering)
            prompt = opening + self._reply_tokens(opening, reply_start)
            spelled = [self._tokens(text) for text in continuations]
            if not prompt:
                raise BackendError("The request holds no text; give at least one message.")
            length = len(prompt) + max(map(len, spelled), default=0)
            if length > self._engine.context_length:
                raise ContextOverflow(length, self._engine.context_length)
            for _ in self._evaluate(prompt, len(opening)):
                pass
            found = log_probabilities(self._engine, spelled)
            self._weighed += self._engine.evaluated - before
            return found

    def sure_text(self, messages: Sequence[Message], reply_start: str, **rendering: Any) -> str | None:
        """What the likeliest tokens say next, up to an end, a new line or MOST_SURE of them; None at the first doubt.

        In doubt is a token with a natural logarithm of its probability below LEAST_SURE. As with `log_probabilities`
        the next request finds the prompt in the cache, and what is evaluated counts with that request.
        """
        with self._turn():
            before = self._engine.evaluated
            opening = self.prompt_tokens(messages, **rendering)
            prompt = opening + self._reply_tokens(opening, reply_start)
            if not prompt or len(prompt) + MOST_SURE > self._engine.context_length:
                raise ContextOverflow(len(prompt) + MOST_SURE, self._engine.context_length)
            for _ in self._evaluate(prompt, len(opening)):
                pass
            tokens = sure_tokens(self._engine, self._vocabulary.end_ids | self._turn_openers, LEAST_SURE, MOST_SURE)
            self._weighed += self._engine.evaluated - before
        if tokens is None:
            return None
        said = b"".join(map(self._vocabulary.piece, tokens)).decode("utf-8", "replace")
        return said.lstrip().partition("\n")[0]

    async def astream(self, request: Request) -> AsyncIterator[StreamItem]:
        """The same in a worker thread. Cancelling the task or closing the iterator stops within one token."""
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        loop = asyncio.get_running_loop()
        items = self.stream(request)
        worker = ThreadPoolExecutor(1, thread_name_prefix="llama-cpp")
        try:
            while (item := await loop.run_in_executor(worker, next, items, None)) is not None:
                yield item
        finally:
            worker.submit(items.close)  # type: ignore[attr-defined]
            worker.shutdown(wait=False)

    def reset(self) -> None:
        """Forget the cached conversations and the remembered replies."""
        with self._turn():
            self._engine.slots.clear()
            self._replies.clear()
            self._weighed = 0

    def close(self) -> None:
        """Free the model; using it afterwards is a BackendError. Waits for a generation in another thread."""
        with self._turn():
            self._engine.close()

    def __enter__(self) -> LlamaCpp:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """The model for one caller; others wait, and come in the order in which they asked."""
        if self._owner == threading.get_ident():
            raise BackendError("This model is already generating in this thread.", hint="Finish or close that stream.")
        self._turns.acquire()
        self._owner = threading.get_ident()
        try:
            yield
        finally:
            self._owner = None
            self._turns.release()

    def _compile(self, source: str | None, options: Mapping[str, Any] | None) -> ChatTemplate | None:
        source = self._engine.chat_template() if source is None else source
        if not source:
            return None
        words = self._vocabulary
        bos, eos = (
            words.piece(token).decode("utf-8", "replace") if 0 <= token < words.size else ""
            for token in (words.bos, words.eos)
        )
        return ChatTemplate(source, bos=bos, eos=eos, options=options)

    def _template_markers(self) -> tuple[frozenset[int], frozenset[int]]:
        """Control tokens that open a turn (a model that writes one plays another role), and markers in disguise."""
        turns = [{"role": role, "content": "Hello"} for role in ("user", "assistant", "user")]
        pieces = [piece.text for piece in self.render(turns) if piece.special]
        with_tools: tuple[Piece, ...] = ()
        with contextlib.suppress(BackendError):
            with_tools = self.render(PROBED_CALL, tools=[PROBED_TOOL])
        marked = [*pieces, *(piece.text for piece in with_tools if piece.special)]
        disguised = frozenset[int]().union(*(self._vocabulary.markers(text) for text in marked))
        if not pieces:
            return frozenset(), disguised
        return self._vocabulary.control_ids.intersection(self._tokens(pieces[-1], special=True)), disguised

    def _tokens(self, text: str, *, special: bool = False) -> list[int]:
        return self._vocabulary.tokenize(text, special=special, protected=self._protected)

    def _reply_tokens(self, opening: Sequence[int], text: str) -> list[int]:
        """Tokens of an assistant content: as far as this model wrote it after this very opening, the sampled ones."""
        data = text.encode("utf-8", "replace")
        known: Sequence[int] = ()
        length = 0
        for ids in self._replies.get(hash(tuple(opening)), ()):
            count, size = self._shared(ids, data)
            if size > length:
                known, length = ids[:count], size
        return [*known, *self._tokens(data[length:].decode("utf-8"))]

    def _shared(self, ids: Sequence[int], data: bytes) -> tuple[int, int]:
        """How many of `ids`, and bytes, spell a beginning of `data` that ends with a whole character."""
        best = (0, 0)
        size = 0
        for count, token in enumerate(ids, 1):
            piece = self._vocabulary.piece(token)
            if not data.startswith(piece, size):
                break
            size += len(piece)
            if size == len(data) or data[size] & 0xC0 != 0x80:
                best = (count, size)
        return best

    def _remember(self, opening: Sequence[int], start: Sequence[int], sampled: Sequence[int]) -> None:
        """Keep the tokens of a reply up to its first control token: text alone never brings one of those back."""
        control = self._vocabulary.control_ids | self._vocabulary.end_ids
        ids = [*start, *sampled]
        until = next((index for index, token in enumerate(ids) if token in control), len(ids))
        key = hash(tuple(opening))
        replies = self._replies.setdefault(key, [])
        if tuple(ids[:until]) not in replies:
            replies.append(tuple(ids[:until]))
        self._replies.move_to_end(key)
        while len(self._replies) > REMEMBERED_REPLIES:
            self._replies.popitem(last=False)

    def _evaluate(
        self, prompt: Sequence[int], given: int | None = None
    ) -> Generator[StreamItem, None, tuple[int, float]]:
        """Bring a slot of the cache to hold exactly `prompt`; gives the number of reused tokens and the seconds.

        The first `given` tokens of the prompt (all, if not said) are the conversation, the others a begun reply.
        """
        engine = self._engine
        before = engine.slots.enter(prompt, len(prompt) if given is None else given)
        shared = common_prefix(before, prompt)
        # the last token is evaluated in any case: its scores are what the first new token is drawn from
        reused = engine.keep(min(shared, len(prompt) - 1))
        self.reevaluated += shared - reused + _repeated(before[shared:], prompt[shared:])
        seconds = 0.0
        for start in range(reused, len(prompt), PROMPT_CHUNK):
            end = min(start + PROMPT_CHUNK, len(prompt))
            began = time.perf_counter()
            engine.evaluate(prompt[start:end])
            seconds += time.perf_counter() - began
            yield Progress(end - reused, len(prompt) - reused)
        return reused, seconds

    def _generate(
        self, request: Request, chosen: Iterator[Chosen], ends: Collection[int], sampled: list[int], usage: Usage
    ) -> Iterator[StreamItem]:
        """Turn tokens into text until a stop string, `until`, the token limit or their end."""
        stops = StopStrings((*request.stop, *(() if self._template else RAW_STOPS)))
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        said: list[str] = []
        finish: FinishReason = "length"
        cut = False
        seconds = 0.0
        count = forced = 0
        while count < request.max_tokens:
            began = time.perf_counter()
            one = next(chosen, None)
            seconds += time.perf_counter() - began
            if one is None:
                break
            count += 1
            forced += one.forced
            text = ""
            if one.token not in ends:
                sampled.append(one.token)
                text = stops.feed(decoder.decode(self._vocabulary.piece(one.token)))
            if text:
                said.append(text)
                cut = request.until is not None and request.until(text)
                yield Delta(text, count)
            if one.ends or cut or stops.stopped:
                finish = "stop"
                break
        if not cut and not stops.stopped:
            rest = stops.feed(decoder.decode(b"", final=True)) + stops.flush()
            if rest:
                said.append(rest)
                yield Delta(rest, count)
        usage = replace(usage, generated=count, forced=forced, generate_seconds=seconds)
        yield Reply(request.reply_start + "".join(said), finish, usage)


def _repeated(lost: Sequence[int], tokens: Sequence[int]) -> int:
    """How many of `tokens` lie in runs of at least REPEATED_RUN that also stood in `lost`."""
    runs = {tuple(lost[at : at + REPEATED_RUN]) for at in range(len(lost) - REPEATED_RUN + 1)}
    count = covered = 0
    for at in range(len(tokens) - REPEATED_RUN + 1):
        if tuple(tokens[at : at + REPEATED_RUN]) in runs:
            count += at + REPEATED_RUN - max(at, covered)
            covered = at + REPEATED_RUN
    return count
