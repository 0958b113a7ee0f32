"""Every exception of the package.

    ReactTextError
    ├── MissingExtra (ImportError)          an optional dependency is not installed
    ├── ToolDefinitionError (TypeError)     a function or schema that cannot become a tool
    ├── ToolsFileError                      a tools file that cannot be read
    ├── ToolSourceError                     a server or an API description whose tools cannot be had
    ├── DialectError (ValueError)           a dialect file that cannot be used
    ├── GrammarError (ValueError)           a grammar that the engine would not take
    ├── TasksError (ValueError)             tasks of a comparison that cannot be used
    ├── RunFolderError                      a run folder that cannot be written, read or gone on with
    ├── RecordError                         a trace or a session that cannot be written or read
    ├── BackendError                        a model or an endpoint did not answer
    │   ├── ModelFileError                  a GGUF that is missing, broken or of an unknown architecture
    │   ├── ContextOverflow                 the prompt does not fit the context window
    │   └── EndpointError                   an endpoint was not reached, refused, or broke off
    │       └── ToolsRefused                the endpoint takes no tools for this model
    ├── ChatError (ValueError)              a chat-completions request that cannot be answered as it is
    ├── ToolUnavailable                     raised *by* a tool whose own dependency is down
    └── ToolFailed                          raised *by* a tool to tell the model what went wrong

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


class ToolSourceError(ReactTextError):
    """An MCP server that does not start or answer, or an API description that cannot be used."""


class DialectError(ReactTextError, ValueError):
    """A dialect file that cannot be used."""


class GrammarError(ReactTextError, ValueError):
    """A grammar that the engine's own check refused; it never reached the engine's parser for use."""


class TasksError(ReactTextError, ValueError):
    """Tasks of a comparison that cannot be found or read."""


class RunFolderError(ReactTextError):
    """A run folder that cannot be written, read or gone on with."""


class RecordError(ReactTextError):
    """A trace or a session file that cannot be written or read."""


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


class ToolFailed(ReactTextError):
    """Raise this inside a tool to tell the model what went wrong in these words, to their end.

    Of any other exception the model is told its type and its first line.
    """


class ChatError(ReactTextError, ValueError):
    """A chat-completions request that cannot be answered as it is, in the words of the public API.

    `status` is the HTTP status, `type` and `code` are the API's own words, `param` names the parameter that is wrong,
    and `retry_after` is in seconds, None where waiting does not help.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        type: str = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.type = type
        self.param = param
        self.code = code
        self.retry_after = retry_after

    def to_dict(self) -> dict[str, dict[str, str | None]]:
        """The body of the answer: `{"error": {"message", "type", "param", "code"}}`."""
        return {"error": {"message": str(self), "type": self.type, "param": self.param, "code": self.code}}
