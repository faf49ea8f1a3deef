"""The embedded model: a GGUF file answered by llama.cpp in this process."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeAlias

from trivium.exceptions import ArgumentTypeError, ConfigurationError, ContextOverflowError, EngineError, ModelError
from trivium.llms._chat_model import ChatModel
from trivium.llms._parameters import check_spelling, common_names
from trivium.llms._protocol import Delta, Finish, Logprobs, Request
from trivium.llms.local._constraints import CallList, Constraint, Envelope, chat_messages, constraint, grammar
from trivium.llms.local._engine import Engine, EngineSettings, Meanwhile, load_engine, physical_cores
from trivium.llms.local._store import ModelStore
from trivium.llms.wire._answers import logprobs_of
from trivium.schema import Usage
from trivium.schema.lowlevel import checked

MAX_TOKENS = 1024
_Piece: TypeAlias = str | Logprobs | Usage | Finish


class LocalModel(ChatModel):
    """A model that runs in this process, on the processor, with no server and no network.

    The file is loaded at the first question, once for all `LocalModel` objects with the same settings.
    Answers under a schema and tool calls always have the right form, unless they end with "length". An answer is one
    tool call at most; with the parameter `parallel_tool_calls=True` up to eight.

    Args:
        path_or_name: a GGUF file, or a name of the model store ("default", "small", …).
        context: tokens of prompt and answer together, for each request.
        parallel: requests that are worked on at the same time; further ones wait. Default 1 below four
            cores, where two at a time are no faster than one after the other, else 2.
        threads: threads of computation; default one for each physical core.
        repack: arrange the weights for this processor as they are loaded (default True). With the 1.5B on two cores,
            answers are then written a quarter faster; but prompts are read a sixth slower, and the model takes half a
            second more to load, and 600 MB more. False suits long prompts with short answers.
        parameters: sampling parameters for every request; those of a request go before.

    Attributes:
        parallel: requests that are worked on at the same time.
        repack: as given; if it is set later, the next request loads another engine.

    Raises:
        ModelNotFoundError: the model store has no such name.
        ConfigurationError: a number is below one.

    Example::

        agent = Agent(LocalModel("small"))
    """

    @checked
    def __init__(
        self,
        path_or_name: str | Path = "default",
        *,
        context: int = 8192,
        parallel: int | None = None,
        threads: int | None = None,
        repack: bool = True,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        if min(context, parallel or 1, threads or 1) < 1:
            raise ConfigurationError("context, parallel and threads are at least 1")
        is_path = isinstance(path_or_name, Path) or path_or_name.endswith(".gguf") or "/" in path_or_name
        self._path = Path(path_or_name).expanduser() if is_path else None
        self._store = ModelStore()
        self.name = self._path.stem if self._path else self._store.name_of(str(path_or_name))
        threads = threads or physical_cores()
        self._context, self.parallel, self._threads = context, parallel or (1 if threads < 4 else 2), threads
        self.repack = repack
        self._engine: Engine | None = None
        self.gen_params = dict(parameters or {})

    while_loading: Meanwhile = nullcontext
    """A context manager for the load, in which the engine blocks the interpreter, Ctrl-C included."""

    def __getstate__(self) -> dict[str, Any]:
        """Return all but the engine: a copy, or the model in another process, finds or loads it at its first use."""
        return {**vars(self), "_engine": None}

    def _identity(self) -> dict[str, object]:
        return {**super()._identity(), "path": self._path, **({} if self.repack else {"repack": False})}

    def __repr__(self) -> str:
        repack = "" if self.repack else ", repack=False"
        return f"LocalModel({self.name!r}, context={self._context}, parallel={self.parallel}{repack})"

    def stream(self, request: Request) -> Generator[Delta]:
        """Yield the deltas of the model's answer; closing the generator stops the model.

        Raises:
            ModelNotFoundError: the model file is not there.
            EngineError: the engine does not start, or stopped.
            ContextOverflowError: the messages do not fit into the context.
            ArgumentTypeError: a sampling parameter is misspelt.
        """
        chosen = common_names(self.gen_params, request.parameters)
        check_spelling(chosen, ())
        form = constraint(request, bool(chosen.pop("parallel_tool_calls", False)))
        chunks = self._load().complete(_body(request, form, chosen))
        try:
            yield from deltas(self._text(chunks), form)
        finally:
            chunks.close()

    @checked
    def load(self, messages: Sequence[Mapping[str, Any]] = ()) -> None:
        """Load the engine now, rather than at the first request, and read what requests begin with in the background.

        Requests wait until that is read, and do not read it again: so a program saves both times while it prepares its
        first request. Loading itself takes a second or more, in which all threads wait.

        Args:
            messages: the messages that requests begin with; the last one may be incomplete. Default: none.

        Raises:
            ModelNotFoundError: the model file is not there.
            EngineError: the engine does not start.
            MissingExtraError: the engine is not installed.
            ArgumentTypeError: `messages` are no messages.

        Example::

            model.load([{"role": "system", "content": "You are a clerk."}])
        """
        if not all(isinstance(each, Mapping) for each in messages):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentTypeError("messages are dicts, as {'role': 'system', 'content': 'Be brief.'}", "messages")
        engine = self._load()
        if messages:
            request = Request([dict(each) for each in messages])
            engine.read_ahead(_body(request, constraint(request, False), {"max_tokens": 1}))

    def _load(self) -> Engine:
        path = self._path or self._store.path(self.name)
        settings = EngineSettings(path.resolve(), self._context, self.parallel, self._threads, self.repack)
        self._engine = load_engine(settings, self.while_loading)
        return self._engine

    def _text(self, chunks: Iterator[dict[str, Any]]) -> Iterator[_Piece]:
        for chunk in chunks:
            if "prompt_progress" in chunk:
                yield ""  # a sign of life, at which a stopped run ends
            if error := chunk.get("error"):
                raise self._failure(error)
            for choice in chunk.get("choices") or ():
                if text := choice["delta"].get("content"):
                    yield text
                if (found := choice.get("logprobs")) and (tokens := logprobs_of(found.get("content"))) is not None:
                    yield tokens
                if reason := choice.get("finish_reason"):
                    yield Finish(reason)
            if usage := chunk.get("usage"):
                details: dict[str, int] = usage.get("prompt_tokens_details") or {}
                kept = details.get("cached_tokens", 0)
                yield Usage(usage["prompt_tokens"], usage["completion_tokens"], cached_tokens=kept)

    def _failure(self, error: dict[str, Any]) -> ModelError:
        if error.get("type") == "exceed_context_size_error":
            tokens, window = int(error.get("n_prompt_tokens") or 0), int(error.get("n_ctx") or 0)
            return ContextOverflowError(
                f"the messages take {tokens} tokens and {self.name} is loaded for {window}: shorten them, raise "
                "LocalModel(context=…), or give a strategy: OverflowModel",
                tokens=tokens,
                window=window,
            )
        kind = ModelError if int(error.get("code") or 500) < 500 else EngineError
        return kind(f"{self.name} cannot answer: {error.get('message') or error}")


def _body(request: Request, form: Constraint, chosen: dict[str, Any]) -> dict[str, Any]:
    if "repetition_penalty" in chosen:
        chosen["repeat_penalty"] = chosen.pop("repetition_penalty")
    wanted = chosen.get("logprobs")
    if isinstance(wanted, int) and not isinstance(wanted, bool):  # as older interfaces have it: the number of tokens
        chosen = {"top_logprobs": wanted, **chosen, "logprobs": True}
    body: dict[str, Any] = {"temperature": 0, "max_tokens": MAX_TOKENS, **chosen}
    body["messages"] = chat = chat_messages(request.messages, form)
    if any(isinstance(each["content"], list) for each in chat):
        raise ModelError(
            "the embedded models read text only, and a message has a file: give its text (trivium.knowledge.read reads "
            "documents and scans), or ask a model on a server that takes files"
        )
    body["stream_options"] = {"include_usage": True}
    body["return_progress"] = True  # so that a stop is noticed while a long prompt is read
    if form.schema is not None:  # not `response_format`: it would ignore the options for the compiler
        body["grammar"] = grammar(form)
    return body


def deltas(pieces: Iterator[_Piece], form: Constraint) -> Iterator[Delta]:
    """Yield the deltas for the caller: text as it arrives, tool calls out of their envelope, usage before finish."""
    if form.tool is not None:
        reader: _Plain | Envelope | CallList = Envelope(form, form.tool)
    elif form.calls is not None:
        reader = CallList(form)
    else:
        reader = _Plain() if form.reply is None else Envelope(form)
    finish, usage = Finish("stop"), None
    for piece in _checked(pieces, form):
        if piece == "" or isinstance(piece, Logprobs):
            yield piece
        elif isinstance(piece, Finish):
            finish = piece
        elif isinstance(piece, Usage):
            usage = piece
        else:
            yield from reader.feed(piece)
    yield from reader.end(finish.reason != "length")
    if usage is not None:
        yield usage
    yield Finish("tool_calls") if reader.called and finish.reason == "stop" else finish


def _checked(pieces: Iterator[_Piece], form: Constraint) -> Iterator[_Piece]:
    """Refuse an answer whose first letters show that the engine dropped the schema: it does not say so."""
    beginning = "" if form.schema and ("properties" in form.schema or form.reply is not None) else "free"
    expected = ('{"', "{}") if form.calls is None else ("[\n",)
    for piece in pieces:
        if isinstance(piece, str) and len(beginning) < 2:
            beginning = (beginning + piece)[:2]
            if not any(each.startswith(beginning) for each in expected):
                raise ConfigurationError("the embedded engine cannot hold answers to this schema: simplify it")
        yield piece


class _Plain:
    """Text that is passed on as it is."""

    called = False

    def feed(self, piece: str) -> Iterator[Delta]:
        yield piece

    def end(self, whole: bool) -> Iterator[Delta]:
        yield from ()
