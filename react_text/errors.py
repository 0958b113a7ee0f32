"""Every exception of the package.

    ReactTextError
    ├── MissingExtra (ImportError)          an optional dependency is not installed
    ├── ToolDefinitionError (TypeError)     a function or schema that cannot become a tool
    ├── ToolsFileError                      a tools file that cannot be read
    ├── DialectError (ValueError)           a dialect file that cannot be used
    ├── GrammarError (ValueError)           a grammar that the engine would not take
    ├── BackendError                        a model or an endpoint did not answer
    │   ├── ModelFileError                  a GGUF that is missing, broken or of an unknown architecture
    │   ├── ContextOverflow                 the prompt does not fit the context window
    │   └── EndpointError                   an endpoint was not reached, refused, or broke off
    │       └── ToolsRefused                the endpoint takes no tools for this model
    └── ToolUnavailable                     raised *by* a tool whose own dependency is down

Each message is one sentence for a person: what was given, what was wanted, what to do.
"""

from __future__ import annotations


class ReactTextError(Exception):
    """Base of every error this package raises on purpose."""


class MissingExtra(ReactTextError, ImportError):
    """An optional dependency is missing; the message holds the exact install line."""

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs an optional dependency: pip install 'react-text[{extra}]'")
        self.extra = extra


class ToolDefinitionError(ReactTextError, TypeError):
    """A function or schema that cannot become a tool."""


class ToolsFileError(ReactTextError):
    """A tools file that cannot be read, or that holds no tools."""


class DialectError(ReactTextError, ValueError):
    """A dialect file that cannot be used."""


class GrammarError(ReactTextError, ValueError):
    """A grammar that the engine's own check refused; it never reached the engine's parser for use."""


class BackendError(ReactTextError):
    """A model or an endpoint did not answer.

    `retryable` says whether the same request may work later; `hint` is the next step for a person, or None.
    """

    def __init__(self, message: str, *, retryable: bool = False, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message} {hint}")
        self.retryable = retryable
        self.hint = hint


class ModelFileError(BackendError):
    """A GGUF file that is missing, is no GGUF, or has an architecture the engine does not know."""


class ContextOverflow(BackendError):
    """The prompt does not fit. `prompt_tokens` and `context_length` are in tokens."""

    def __init__(self, prompt_tokens: int, context_length: int) -> None:
        super().__init__(
            f"The prompt has {prompt_tokens} tokens and the context holds {context_length}.",
            hint="Use a larger n_ctx (--n-ctx), fewer tools, or a shorter dialect.",
        )
        self.prompt_tokens = prompt_tokens
        self.context_length = context_length


class EndpointError(BackendError):
    """An endpoint was not reached, refused, or broke off.

    `reason` is a key of `endpoint_errors.REASONS`, `status` the HTTP status or None where no answer came, and
    `retry_after` the seconds the endpoint asked to wait. `partial` is the text of the reply that had arrived, `body`
    what the server said, as an `endpoint_errors.ErrorBody`.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: str,
        status: int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        partial: str = "",
        body: object = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, retryable=retryable, hint=hint)
        self.reason = reason
        self.status = status
        self.retry_after = retry_after
        self.partial = partial
        self.body = body


class ToolsRefused(EndpointError):
    """The endpoint, or the model behind it, takes no tools: the same turn can be asked as text."""


class ToolUnavailable(ReactTextError):
    """Raise this inside a tool when what it depends on is down: the call is retried, then the run stops."""
