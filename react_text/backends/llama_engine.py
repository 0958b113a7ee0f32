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

from react_text.backends.gguf import check_gguf, load_failure
from react_text.backends.llama_threads import (
    decode_threads,
    patient_threads,
    physical_cores,
    prompt_threads,
    reports_matrix_tiles,
    usable_cpus,
)
from react_text.backends.llama_vocabulary import Vocabulary
from react_text.errors import BackendError, MissingExtra, ModelFileError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

logger = logging.getLogger("react_text.llama_cpp")

PROMPT_CHUNK = 128
"""Prompt tokens per evaluation: small enough to report progress and to be cancelled, large enough to be quick."""

DEFAULT_CONTEXT = 4096

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


class Engine:
    """One loaded model with one context. Not thread-safe: its owner takes turns.

    `cached` are the tokens whose keys and values the context holds, from position 0 on. Dropping the last reference
    frees the model as `close` does.
    """

    def __init__(
        self,
        path: Path,
        *,
        n_ctx: int | None = None,
        n_threads: int | None = None,
        n_threads_batch: int | None = None,
        n_gpu_layers: int = 0,
        on_load: Callable[[float], None] | None = None,
    ) -> None:
        check_gguf(path)
        for name, value in (("n_ctx", n_ctx), ("n_threads", n_threads), ("n_threads_batch", n_threads_batch)):
            if value is not None and value < 1:
                raise BackendError(f"{name} is {value}; it must be at least 1.")
        self._lib = lib = library()
        self.cached: list[int] = []
        self._handles: dict[str, Any] = {}
        self._finalizer = weakref.finalize(self, _free, lib, self._handles)
        # what the operating system does at exit is enough, and by then the C library may be half gone
        self._finalizer.atexit = False
        try:
            self._handles["model"] = model = self._load(path, n_gpu_layers, on_load)
            self.metadata = _metadata(lib, model)
            self.vocabulary = Vocabulary(lib, weakref.WeakMethod(self._vocabulary_handle)())  # type: ignore[arg-type]
            self._refuse_unfit(path)
            self.trained_context: int = lib.llama_model_n_ctx_train(model)
            self.context_length = n_ctx or min(self.trained_context or DEFAULT_CONTEXT, DEFAULT_CONTEXT)
            if self.trained_context and self.context_length > self.trained_context:
                logger.warning("n_ctx %d exceeds the %d tokens of training", self.context_length, self.trained_context)
            self.n_threads = n_threads or decode_threads(physical_cores())
            self.n_threads_batch = n_threads_batch or n_threads or prompt_threads(usable_cpus())
            self._handles["context"] = context = self._open_context(model)
            self._memory = lib.llama_get_memory(context)
        except BaseException:
            self.close()
            raise
