"""A GGUF model and its context behind calls that cannot crash the interpreter.

llama.cpp checks little of what it is given: null handles, empty batches and ids outside the vocabulary end the process.
Everything is checked here first, in terms of tokens. This module knows nothing of messages, templates or replies.
"""

from __future__ import annotations

import ctypes
import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from react_text.backends.llama.batch import Batch, Node
from react_text.backends.llama.gguf import check_gguf, load_failure
from react_text.backends.llama.slots import Slots
from react_text.backends.llama.threads import (
    decode_threads,
    patient_threads,
    physical_cores,
    prompt_threads,
    reports_matrix_tiles,
    usable_cpus,
)
from react_text.backends.llama.vocabulary import Vocabulary
from react_text.errors import BackendError, MissingExtra, ModelFileError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

logger = logging.getLogger("react_text.llama_cpp")

PROMPT_CHUNK = 128
"""Prompt tokens per evaluation: small enough to report progress and to be cancelled, large enough to be quick."""

DEFAULT_CONTEXT = 4096
LARGEST_CONTEXT = 2**31 - 1
MOST_SLOTS = 64
MOST_THREADS = 512
"""ggml ends the process above this."""
MOST_BRANCHES = 32
"""Continuations that are evaluated at once."""

_recent_log: deque[str] = deque(maxlen=200)
_interrupts: list[BaseException] = []
_keep_alive: list[Any] = []
_loading = threading.Lock()


@lru_cache(maxsize=1)
def library() -> Any:
    """The low-level `llama_cpp` module, loaded once, its chatter sent to the `react_text.llama_cpp` log.

    Raises MissingExtra when it, numpy or jinja2 is not installed.
    """
    with _loading, patient_threads():
        try:
            import jinja2  # noqa: F401
            import llama_cpp
            import numpy  # noqa: F401
        except ImportError as error:
            raise MissingExtra("local", "Running a GGUF file in process") from error

    @llama_cpp.llama_log_callback  # type: ignore[untyped-decorator, unused-ignore]
    def log(_level: int, text: bytes, _user_data: object) -> None:
        try:
            line = text.decode("utf-8", "replace").strip(" .\n")
            if line:
                _recent_log.append(line)
                logger.debug("%s", line)
        except BaseException as error:  # Ctrl-C may land here, and no exception can cross the C frames
            _interrupts.append(error)

    _keep_alive.append(log)
    llama_cpp.llama_log_set(log, ctypes.c_void_p(0))
    llama_cpp.llama_backend_init()
    return llama_cpp


class _Handles:
    """The addresses of one model in the C library, and the way to free them once."""

    def __init__(self, lib: Any) -> None:
        self._lib = lib
        self._model: Any = None
        self._context: Any = None
        self.progress: Any = None
        """The callback the model was loaded with: the model keeps its address."""

    def set_model(self, model: Any) -> None:
        self._model = model

    def set_context(self, context: Any) -> None:
        self._context = context

    def model(self) -> Any:
        if not self._model:
            raise BackendError("This model was closed.", hint="Load it again.")
        return self._model

    def context(self) -> Any:
        if not self._context:
            raise BackendError("This model was closed.", hint="Load it again.")
        return self._context

    def vocabulary(self) -> Any:
        return self._lib.llama_model_get_vocab(self.model())

    def free(self) -> None:
        context, self._context = self._context, None
        model, self._model = self._model, None
        if context:
            self._lib.llama_free(context)
        if model:
            self._lib.llama_model_free(model)


class Engine:
    """One loaded model with one context. Not thread-safe: its owner takes turns.

    The context holds one conversation, the `slots` those put aside. `can_drop` says whether the last tokens can be
    dropped without evaluating the others again. Dropping the last reference frees the model as `close` does.
    """

    def __init__(
        self,
        path: Path,
        *,
        n_ctx: int | None = None,
        n_threads: int | None = None,
        n_threads_batch: int | None = None,
        n_gpu_layers: int = 0,
        slots: int = 1,
        on_load: Callable[[float], None] | None = None,
    ) -> None:
        check_gguf(path)
        _check_setting("slots", slots, MOST_SLOTS)
        _check_setting("n_ctx", n_ctx, LARGEST_CONTEXT)
        _check_setting("n_threads", n_threads, MOST_THREADS)
        _check_setting("n_threads_batch", n_threads_batch, MOST_THREADS)
        self._lib = library()
        self._handles = _Handles(self._lib)
        # at exit the operating system takes the memory back, and the C library may be half gone by then
        weakref.finalize(self, self._handles.free).atexit = False
        self.evaluated = 0
        """Tokens evaluated since loading."""
        try:
            self._load(path, n_gpu_layers, on_load)
            self.metadata = self._read_metadata()
            self.vocabulary = Vocabulary(self._lib, self._handles.vocabulary)
            self._refuse_unfit(path)
            self.can_drop = not self._is_recurrent()
            trained = int(self._lib.llama_model_n_ctx_train(self._handles.model()))
            self.context_length = n_ctx or min(trained or DEFAULT_CONTEXT, DEFAULT_CONTEXT)
            if trained and self.context_length > trained:
                logger.warning("n_ctx is %d and the model was trained on %d tokens", self.context_length, trained)
            self.branches = min(MOST_BRANCHES, self.context_length) if self.can_drop else 1
            self.n_threads = n_threads or decode_threads(physical_cores())
            self.n_threads_batch = n_threads_batch or n_threads or prompt_threads(usable_cpus())
            self._open_context(slots)
        except BaseException:
            self.close()
            raise

    def _load(self, path: Path, n_gpu_layers: int, on_load: Callable[[float], None] | None) -> None:
        params = self._lib.llama_model_default_params()
        params.n_gpu_layers = n_gpu_layers
        if hasattr(params, "use_extra_bufts") and reports_matrix_tiles():
            # llama.cpp's AMX code, as GCC 12 builds it, ends the process with an illegal instruction; weights that
            # are not repacked stay out of it
            params.use_extra_bufts = False
        _interrupts.clear()
        _recent_log.clear()

        def progress(fraction: float, _user_data: object) -> bool:
            try:
                if on_load is not None:
                    on_load(fraction)
            except BaseException as error:  # no exception can cross the C frames; it is raised again below
                _interrupts.append(error)
            return not _interrupts

        self._handles.progress = params.progress_callback = self._lib.llama_progress_callback(progress)
        model = self._lib.llama_model_load_from_file(os.fsencode(path), params)
        self._handles.set_model(model)
        if _interrupts:
            raise _interrupts.pop()
        if not model:
            raise load_failure(path, _recent_log)

    def _refuse_unfit(self, path: Path) -> None:
        lib, model = self._lib, self._handles.model()
        architecture = self.metadata.get("general.architecture", "")
        causal = self.metadata.get(f"{architecture}.attention.causal", "true") != "false"
        diffusion = getattr(lib, "llama_model_is_diffusion", lambda _model: False)(model)
        writes = lib.llama_model_has_decoder(model) and not lib.llama_model_has_encoder(model)
        if not (causal and writes and not diffusion and self.vocabulary.size):
            raise ModelFileError(f"{path} is no model that writes text ({architecture}); choose a chat or base model.")

    def _is_recurrent(self) -> bool:
        checks = ("llama_model_is_recurrent", "llama_model_is_hybrid")
        return any(getattr(self._lib, name, lambda _model: False)(self._handles.model()) for name in checks)

    def _open_context(self, slots: int) -> None:
        needed, memory = self._cache_bytes(), _physical_memory()
        hint = "Use a smaller n_ctx (--n-ctx)."
        if memory is not None and needed > memory:
            raise BackendError(
                f"A context of {self.context_length} tokens needs {needed / 2**30:.1f} GiB and this machine has "
                f"{memory / 2**30:.1f} GiB.",
                hint=hint,
            )
        params = self._lib.llama_context_default_params()
        params.n_ctx = self.context_length
        params.n_batch = params.n_ubatch = min(PROMPT_CHUNK, self.context_length)
        params.n_seq_max = self.branches
        params.kv_unified = True
        params.n_threads = self.n_threads
        params.n_threads_batch = self.n_threads_batch
        params.no_perf = True
        context = self._lib.llama_init_from_model(self._handles.model(), params)
        if not context:
            raise BackendError(f"llama.cpp could not open a context of {self.context_length} tokens.", hint=hint)
        self._handles.set_context(context)
        self._batch = Batch(self._lib, params.n_batch)
        self.slots = Slots(self._lib, self._handles.context, slots, self.context_length)

    def _cache_bytes(self) -> int:
        """Memory of the KV cache at 16 bits a value, an upper estimate where layers differ."""
        lib, model = self._lib, self._handles.model()
        size = lib.llama_model_n_embd(model) // max(1, lib.llama_model_n_head(model))
        return int(4 * self.context_length * lib.llama_model_n_layer(model) * lib.llama_model_n_head_kv(model) * size)

    def _read_metadata(self) -> dict[str, str]:
        lib, model = self._lib, self._handles.model()
        buffer = ctypes.create_string_buffer(1 << 16)

        def text(read: Callable[..., int], index: int) -> str:
            nonlocal buffer
            size = read(model, index, buffer, len(buffer))
            if size >= len(buffer):
                buffer = ctypes.create_string_buffer(size + 1)
                read(model, index, buffer, len(buffer))
            return buffer.value.decode("utf-8", "replace") if size >= 0 else ""

        return {
            text(lib.llama_model_meta_key_by_index, index): text(lib.llama_model_meta_val_str_by_index, index)
            for index in range(lib.llama_model_meta_count(model))
        }

    def description(self) -> str:
        """What the file says the model is, such as "llama 256M Q4_1"."""
        buffer = ctypes.create_string_buffer(256)
        self._lib.llama_model_desc(self._handles.model(), buffer, len(buffer))
        return buffer.value.decode("utf-8", "replace")

    def parameter_count(self) -> int:
        return int(self._lib.llama_model_n_params(self._handles.model()))

    def chat_template(self) -> str | None:
        found = self._lib.llama_model_chat_template(self._handles.model(), None)
        return found.decode("utf-8", "replace") if found else None

    @property
    def cached(self) -> list[int]:
        """The tokens whose keys and values the context holds, from position 0 on."""
        return self.slots.tokens

    def keep(self, count: int) -> int:
        """Drop all but the first `count` cached tokens; returns how many are left, `count` or where that fails 0."""
        return self.slots.keep(count)

    def evaluate(self, tokens: Sequence[int], *, outputs: int = 1, decoding: bool = False) -> None:
        """Append at most PROMPT_CHUNK tokens to the context; afterwards `logits` speaks of the last `outputs`.

        `decoding` uses the threads for decoding: the tokens of a reply are too few for more to pay on a busy machine.
        """
        context = self._handles.context()
        if not 0 < outputs <= len(tokens) <= PROMPT_CHUNK:
            raise BackendError(f"{len(tokens)} tokens cannot be evaluated at once, wanted 1 to {PROMPT_CHUNK}.")
        if len(self.cached) + len(tokens) > self.context_length:
            raise BackendError("The context is full.", hint="Use a larger n_ctx (--n-ctx).")
        if min(tokens) < 0 or max(tokens) >= self.vocabulary.size:
            raise BackendError(f"A token is outside the vocabulary of {self.vocabulary.size}.")
        self._lib.llama_set_n_threads(context, self.n_threads, self.n_threads if decoding else self.n_threads_batch)
        self._decode(self._batch.fill(tokens, start=len(self.cached), outputs=outputs))
        self.cached.extend(tokens)
        self.evaluated += len(tokens)
        if _interrupts:
            raise _interrupts.pop()

    def evaluate_tree(self, nodes: Sequence[Node]) -> None:
        """Evaluate continuations of the context at once and forget them; afterwards `logits` speaks of the nodes.

        At most PROMPT_CHUNK nodes of at most `branches` continuations, each node behind the one that it follows.
        """
        context, held = self._handles.context(), len(self.cached)
        if not 0 < len(nodes) <= PROMPT_CHUNK or held + len(nodes) > self.context_length:
            raise BackendError(f"{len(nodes)} tokens cannot be evaluated at once after {held}.")
        memory = self._lib.llama_get_memory(context)
        branches = range(1, 1 + max(max(node.branches) for node in nodes))
        for branch in branches:
            self._lib.llama_memory_seq_cp(memory, 0, branch, -1, -1)
        try:
            self._lib.llama_set_n_threads(context, self.n_threads, self.n_threads_batch)
            self._decode(self._batch.fill_tree(nodes, start=held))
        finally:
            for branch in branches:
                self._lib.llama_memory_seq_rm(memory, branch, -1, -1)
            self.keep(held)
        self.evaluated += len(nodes)
        if _interrupts:
            raise _interrupts.pop()

    def _decode(self, batch: Any) -> None:
        status = self._lib.llama_decode(self._handles.context(), batch)
        if status != 0:
            self.keep(0)
            raise BackendError(f"llama.cpp could not evaluate the tokens (status {status}).", retryable=True)

    def logits(self, back: int = 0) -> npt.NDArray[np.float32]:
        """Scores of the whole vocabulary for what follows the last token, or the one `back` before it.

        It is a view that the next `evaluate` overwrites.
        """
        import numpy as np

        context = self._handles.context()
        pointer = self._lib.llama_get_logits_ith(context, -1 - back) if self.cached else None
        if not pointer:
            raise BackendError("The model gave no scores for the next token.")
        return np.ctypeslib.as_array(pointer, shape=(self.vocabulary.size,))

    def grammar_handle(self, text: str) -> Any:
        """A grammar sampler of llama.cpp, or None where it refuses `text`. The caller frees it."""
        return self._lib.llama_sampler_init_grammar(self._handles.vocabulary(), text.encode(), b"root") or None

    def close(self) -> None:
        """Free the model. Calling it twice does nothing."""
        self._handles.free()


def _check_setting(name: str, value: int | None, most: int) -> None:
    if value is not None and not 1 <= value <= most:
        raise BackendError(f"{name} is {value}; it must be between 1 and {most}.")


def _physical_memory() -> int | None:
    """Bytes of memory of this machine, or None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
