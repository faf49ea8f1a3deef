"""The base classes of models that are written as in the Lagent documents: a prompt in, a text out."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from inspect import isawaitable, signature
from typing import Any, ClassVar

from trivium._arguments import checked
from trivium.commander import driver_neutral, gather, sync_method, this_session
from trivium.commander.lowlevel import is_async
from trivium.exceptions import ConfigurationError, MalformedAnswerError
from trivium.llms._call import call_model
from trivium.llms._chat_model import AsyncModelMixin, ChatModel, Messages
from trivium.llms._meta_template import APITemplateParser, LMTemplateParser, MetaTemplate
from trivium.llms._protocol import Delta, ModelProtocol, Request

__all__ = ["AsyncBaseAPILLM", "AsyncBaseLLM", "BaseAPILLM", "BaseLLM"]

Answer = Iterable[Delta] | AsyncIterable[Delta] | Awaitable[Iterable[Delta]]
TemplateParser = Callable[..., Any]
StopWords = str | Sequence[str] | None


class _TextModel(ChatModel):
    """A model that reads a prompt. One method is enough: `complete`, `generate`, `chat` or `stream_chat`.

    The built-in `chat` and `stream_chat` stand on `generate`, if that was written, else on `complete`; so a class may
    write its own `chat` and call the built-in one from there. Where neither was written, each stands on the other.
    """

    template_parser: Callable[[Any], Any]
    _writes: ClassVar[frozenset[str]] = frozenset()
    _awaits: ClassVar[frozenset[str]] = frozenset()
    _chats_with: ClassVar[str | None] = None
    _streams_a_session: ClassVar[bool] = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._writes = frozenset(name for name in _NAMES if getattr(cls, name) not in _BUILT_IN)
        cls._chats_with = next((name for name in ("stream_chat", "chat") if name in cls._writes), None)
        cls._streams_a_session = "session_id" in signature(cls.stream_chat).parameters
        awaits_all = issubclass(cls, AsyncModelMixin)
        cls._awaits = frozenset(name for name in _NAMES if awaits_all or is_async(getattr(cls, name)))

    def complete(self, prompt: Any, parameters: Mapping[str, Any]) -> Answer:
        """Yield what the model answers to a prompt, piece by piece; may be an async generator.

        Args:
            prompt: what `template_parser` made of the messages, or what `generate` was given.
            parameters: all sampling parameters, by the names of `gen_params`.
        """
        raise NotImplementedError(
            f"{type(self).__name__} cannot answer: write `def generate(self, inputs, **gen_params)` or "
            "`def complete(self, prompt, parameters)`"
        )

    def stream(self, request: Request) -> Any:
        """Ask the model and yield what it answers, through what the class has written.

        Raises:
            ConfigurationError: the request has tools or a schema, of which a model of text knows nothing.
        """
        if request.tools or request.output_schema is not None:
            what = "tools" if request.tools else "an output schema"
            raise ConfigurationError(
                f"{type(self).__name__} answers text and cannot be given {what}: describe the tools in the template "
                "and read the calls with an output_format, or use the model behind an OpenAI-compatible server"
            )
        messages = [*map(dict, request.messages)]
        if self._chats_with is not None:
            return self._through(self._chats_with, messages, request.parameters)
        return self._below(messages, request.parameters)

    def _through(self, method: str, messages: Messages, parameters: Mapping[str, Any]) -> Any:
        if method == "stream_chat":
            session = {"session_id": this_session()} if self._streams_a_session else {}
            return _pieces(self.stream_chat(messages, **session, **parameters))
        session = (this_session(),) if "chat" in self._awaits else ()
        return self._whole("chat", messages, *session, **parameters)

    def _below(self, messages: Messages, parameters: Mapping[str, Any]) -> Any:
        return self._completed(self.template_parser(messages), parameters)

    def _completed(self, prompt: Any, parameters: Mapping[str, Any]) -> Any:
        if "generate" in self._writes:
            return self._whole("generate", prompt, **parameters)
        return self.complete(prompt, self.update_gen_params(**parameters))

    def _whole(self, method: str, /, *args: Any, **parameters: Any) -> Any:
        """What a plain or async method returns, as the only piece."""
        function = getattr(self, method)
        if method not in self._awaits:
            return _one(function, args, parameters)

        async def awaited() -> list[Delta]:
            answer = function(*args, **parameters)
            return [_checked(await answer if isawaitable(answer) else answer)]

        return awaited()

    @driver_neutral
    async def generate_async(self, inputs: str | Sequence[str], session_ids: Any = None, **gen_params: Any) -> Any:
        """The model's answer to a prompt, or to each of several at once.

        Args:
            inputs: prompts as the model reads them; no template is applied.
            session_ids: which conversations these are, where the model keeps something for each.
            **gen_params: sampling parameters of this call.
        """
        many = [inputs] if isinstance(inputs, str) else inputs
        parameters = self.update_gen_params(**gen_params)
        views = [_View(self.name, partial(self._ignoring_request, each, parameters)) for each in many]
        texts = [reply.text for reply in await gather(*[partial(call_model, view, Request(())) for view in views])]
        return texts[0] if isinstance(inputs, str) else texts

    generate = sync_method(generate_async)

    def _ignoring_request(self, prompt: str, parameters: Mapping[str, Any], request: Request) -> Answer:
        return self.complete(prompt, parameters)

    def _model_for(self, method: str) -> ModelProtocol:
        other = "chat" if method == "stream_chat" else "stream_chat"
        is_other = self._writes == frozenset({other})

        def below(request: Request) -> Any:
            if is_other:
                return self._through(other, request.messages, request.parameters)
            return self._below(request.messages, request.parameters)

        return _View(self.name, below)


class _View:
    """A model that answers through a part of another."""

    def __init__(self, name: str, part: Callable[[Request], Any]) -> None:
        self.name, self._part = name, part

    def stream(self, request: Request) -> Any:
        return self._part(request)


class AsyncTextMixin(AsyncModelMixin):
    """Put before a text model's class, it makes `generate` give a coroutine too."""

    generate_async: Callable[..., Any]

    def generate(self, inputs: str | Sequence[str], session_ids: Any = None, **gen_params: Any) -> Any:
        """The model's answer to a prompt, or to each of several at once; see `BaseLLM.generate`."""
        return self.generate_async(inputs, session_ids, **gen_params)


_NAMES = ("stream_chat", "chat", "generate", "complete")
_BUILT_IN = frozenset(getattr(kind, name, None) for kind in (_TextModel, AsyncTextMixin) for name in _NAMES)


class BaseLLM(_TextModel):
    """A model that continues a prompt, written as in the Lagent documents.

    Args:
        path: the model: a folder, or its name at a hub.
        tokenizer_only: load the tokenizer alone.
        template_parser: what makes a prompt of chat messages, from the meta template.
        meta_template: how each role is written; see `INTERNLM2_META`.
        max_new_tokens: the longest answer, in tokens.
        top_p: the share of probability that is sampled from.
        top_k: how many tokens are sampled from.
        temperature: 0 always takes the likeliest token.
        repetition_penalty: above 1 it makes repetitions unlikely.
        stop_words: texts at which an answer ends; they are cut off.

    Attributes:
        gen_params: the parameters by these names. A change counts from the next call on.

    Example:
        >>> class Echo(BaseLLM):
        ...     def generate(self, inputs, **gen_params):
        ...         return inputs.upper()
        >>> Echo("echo").chat([{"role": "user", "content": "hi"}])
        'HI'
    """

    @checked
    def __init__(
        self,
        path: str,
        tokenizer_only: bool = False,
        template_parser: TemplateParser = LMTemplateParser,
        meta_template: MetaTemplate | None = None,
        *,
        max_new_tokens: int = 512,
        top_p: float = 0.8,
        top_k: int = 40,
        temperature: float = 0.8,
        repetition_penalty: float = 1.0,
        stop_words: StopWords = None,
    ) -> None:
        self.path, self.tokenizer_only, self.meta_template = path, tokenizer_only, meta_template
        self.name = path.rstrip("/").rpartition("/")[2]
        self.template_parser = template_parser(meta_template)
        self.gen_params = {
            "max_new_tokens": max_new_tokens,
            "top_p": top_p,
            "top_k": top_k,
            "temperature": temperature,
            "repetition_penalty": repetition_penalty,
            "stop_words": _as_list(stop_words),
        }


class AsyncBaseLLM(AsyncTextMixin, BaseLLM):
    """A `BaseLLM` whose methods are awaited."""


class BaseAPILLM(_TextModel):
    """A model behind an interface of chat messages, written as in the Lagent documents.

    Args:
        model_type: its name there.
        retry: how often a request is tried at most.
        template_parser: what gives messages the roles of the interface, from the meta template.
        meta_template: the `api_role` of each role.
        max_new_tokens: the longest answer, in tokens.
        top_p: the share of probability that is sampled from.
        top_k: how many tokens are sampled from.
        temperature: 0 always takes the likeliest token.
        repetition_penalty: how unlikely repetitions become.
        stop_words: texts at which an answer ends; they are cut off.

    Attributes:
        gen_params: the parameters by these names. A change counts from the next call on.
    """

    is_api: ClassVar[bool] = True

    @checked
    def __init__(
        self,
        model_type: str,
        retry: int = 2,
        template_parser: TemplateParser = APITemplateParser,
        meta_template: MetaTemplate | None = None,
        *,
        max_new_tokens: int = 512,
        top_p: float | None = 0.8,
        top_k: int | None = 40,
        temperature: float | None = 0.8,
        repetition_penalty: float = 0.0,
        stop_words: StopWords = None,
    ) -> None:
        self.name = self.model_type = model_type
        self.retry, self.meta_template = retry, meta_template
        self.template_parser = template_parser(meta_template)
        self.gen_params = {
            "max_new_tokens": max_new_tokens,
            "top_p": top_p,
            "top_k": top_k,
            "temperature": temperature,
            "repetition_penalty": repetition_penalty,
            "stop_words": _as_list(stop_words),
            "skip_special_tokens": False,
        }


class AsyncBaseAPILLM(AsyncTextMixin, BaseAPILLM):
    """A `BaseAPILLM` whose methods are awaited."""


def _as_list(stop_words: StopWords) -> list[str]:
    return [stop_words] if isinstance(stop_words, str) else list(stop_words or ())


def _one(function: Callable[..., Any], args: tuple[Any, ...], parameters: Mapping[str, Any]) -> Iterator[Delta]:
    yield _checked(function(*args, **parameters))


def _checked(answer: Any) -> str:
    if not isinstance(answer, str):
        raise MalformedAnswerError(f"a model's chat and generate return text, not {type(answer).__name__}")
    return answer


def _pieces(growing: Any) -> Any:
    """The pieces of a text that grows, as `stream_chat` yields it."""
    piece = _Piece()
    if hasattr(growing, "__aiter__"):
        return (piece.of(each) async for each in growing)
    return (piece.of(each) for each in growing)


class _Piece:
    """Tells what is new in a text that grows."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known = 0

    def of(self, item: Sequence[Any]) -> str:
        new = str(item[1])[self._known :]
        self._known += len(new)
        return new
