"""The base classes of models written as in the Lagent documents: a prompt in, a text out."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Sequence
from functools import partial
from inspect import isawaitable, signature
from typing import Any, ClassVar

from trivium.commander import driver_neutral, gather, sync_method, this_session
from trivium.commander.lowlevel import current, is_async, scope_of
from trivium.exceptions import ConfigurationError, MalformedAnswerError
from trivium.llms._call import call_model
from trivium.llms._chat_model import Answers, AsyncModelMixin, ChatModel, Messages, as_messages
from trivium.llms._meta_template import APITemplateParser, LMTemplateParser, MetaTemplate
from trivium.llms._parameters import check_spelling
from trivium.llms._protocol import Delta, ModelProtocol, Parameters, Request
from trivium.schema.lowlevel import check_name, checked, keywords_of

Answer = Iterable[Delta] | AsyncIterable[Delta] | Awaitable[Iterable[Delta]]
TemplateParser = Callable[..., Any]
StopWords = str | Sequence[str] | None


class _TextModel(ChatModel):
    """A model that reads a prompt. A subclass writes one method: `complete`, `generate`, `chat` or `stream_chat`.

    If it writes several, a call goes through `chat`, or through the template and `generate` or `complete`; a call whose
    answer is given out as it grows goes through `stream_chat`. The built-in `chat` and `stream_chat` call `generate` if
    the class writes it, and `complete` otherwise; so a class may write its own `chat` and call the built-in one from
    there. If it writes one of the two, the other calls it.
    """

    template_parser: Callable[[Any], Any]
    meta_template: MetaTemplate | None = None
    _writes: ClassVar[frozenset[str]] = frozenset()
    _awaits: ClassVar[frozenset[str]] = frozenset()
    _chats_with: ClassVar[str | None] = None
    _streams_with: ClassVar[str | None] = None
    _sessions: ClassVar[dict[str, str]] = {}  # by what name a method is given the session
    _keywords: ClassVar[dict[str, frozenset[str] | None]] = {}  # those of each method that it writes; None: any

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        cls._writes = frozenset(name for name in _NAMES if getattr(cls, name) not in _BUILT_IN)
        cls._streams_with = next((name for name in ("stream_chat", "chat") if name in cls._writes), None)
        first = [name for name in ("chat", "generate", "complete", "stream_chat") if name in cls._writes][:1]
        cls._chats_with = first[0] if first and first[0] in ("chat", "stream_chat") else None
        cls._keywords = {each: keywords_of(getattr(cls, each)) for each in cls._writes}
        awaits_all = issubclass(cls, AsyncModelMixin)
        cls._awaits = frozenset(name for name in _NAMES if awaits_all or is_async(getattr(cls, name)))
        # Sync code in Lagent gives it to `stream_chat` alone.
        given = [each for each in cls._writes if each == "stream_chat" or each in cls._awaits]
        named = {each: {*signature(getattr(cls, each)).parameters} & {"session_id", "session_ids"} for each in given}
        cls._sessions = {each: min(names) for each, names in named.items() if names}

    def _identity(self) -> dict[str, object]:
        return {**super()._identity(), "template": self.meta_template}

    def complete(self, prompt: Any, parameters: Parameters) -> Answer:
        """Yield the deltas of the answer to a prompt; may be an async generator.

        Args:
            prompt: the result of `template_parser`, or the input of `generate`.
            parameters: all sampling parameters, by the names of `gen_params`.
        """
        raise NotImplementedError(
            f"{type(self).__name__} cannot answer: write `def generate(self, inputs, **gen_params)` or "
            "`def complete(self, prompt, parameters)`"
        )

    def stream(self, request: Request) -> Any:
        """Yield the deltas of the answer, by the method that the class writes.

        Raises:
            ConfigurationError: the request has tools or a schema, which a text model does not support.
        """
        if request.tools or request.output_schema is not None:
            what = "tools" if request.tools else "an output schema"
            raise ConfigurationError(
                f"{type(self).__name__} answers text and cannot be given {what}: describe the tools in the template "
                "and read the calls with an output_format, or use the model behind an OpenAI-compatible server"
            )
        messages = [*map(dict, request.messages)]
        node = current.get()
        is_streamed = node is not None and bool(scope_of(node).pipes)  # somebody reads the answer as it grows
        method = self._streams_with if is_streamed else self._chats_with
        if method is not None:
            return self._through(method, messages, request.parameters)
        return self._below(messages, request.parameters)

    @driver_neutral
    async def chat_async(self, inputs: object, session_ids: object = None, **gen_params: object) -> Answers:
        """Return the model's answer as `ChatModel.chat_async`; one text is a prompt already, without the template."""
        if not isinstance(inputs, str) or self.meta_template is None or self._writes.isdisjoint(_PROMPTED):
            return await super().chat_async(inputs, session_ids, **gen_params)
        part = _Part(self.name, lambda request: self._below(inputs, request.parameters, session_ids))
        return (await call_model(part, self._request_for(as_messages(inputs), gen_params))).text

    def _through(self, method: str, messages: Messages, parameters: Parameters) -> Any:
        parameters = {**self._session_for(method), **parameters}
        if method == "stream_chat":
            self._check_keywords(method, parameters)
            return new_pieces(self.stream_chat(messages, **parameters))
        return self._whole("chat", messages, **parameters)

    def _below(self, messages: Messages | str, parameters: Parameters, session: object = None) -> Any:
        """Answer by the templates and `generate` or `complete`."""
        prompt = self.template_parser(messages)
        if "generate" not in self._writes:
            return self.complete(prompt, self.update_gen_params(**parameters))
        return self._whole("generate", prompt, **{**self._session_for("generate", session), **parameters})

    def _session_for(self, method: str, session: object = None) -> dict[str, object]:
        """Return the session as a keyword, if the method names it; None is that of the call."""
        name = self._sessions.get(method)
        return {} if name is None else {name: this_session() if session is None else session}

    def _check_keywords(self, method: str, given: Parameters) -> None:
        """Refuse parameters that the method of the class does not take."""
        if (known := self._keywords.get(method)) is not None:
            for name in given:
                check_name(name, sorted(known - {"self"}), f"{type(self).__name__}.{method} takes no")

    def _whole(self, method: str, /, *args: object, **parameters: object) -> Any:
        """Return the result of a sync or async method as the only delta."""
        function = getattr(self, method)
        self._check_keywords(method, parameters)
        if method in self._awaits:

            async def awaited() -> list[Delta]:
                answer = function(*args, **parameters)
                return [_text(await answer if isawaitable(answer) else answer)]

            return awaited()
        return (_text(function(*args, **parameters)) for _ in range(1))  # called when the first delta is read

    @driver_neutral
    async def generate_async(
        self, inputs: str | Sequence[str], session_ids: object = None, **gen_params: object
    ) -> Answers:
        """Return the model's answer to a prompt, or to each of several prompts concurrently.

        Args:
            inputs: prompts as the model reads them; no template is applied.
            session_ids: ids of the conversations, for models that keep state for each.
            **gen_params: sampling parameters of this call.
        """
        check_spelling(gen_params, self.gen_params)
        parameters = self.update_gen_params(**gen_params)

        def part(prompt: str) -> _Part:
            return _Part(self.name, lambda _: self.complete(prompt, parameters))

        parts = [part(each) for each in ([inputs] if isinstance(inputs, str) else inputs)]
        texts = [reply.text for reply in await gather(*[partial(call_model, each, Request(())) for each in parts])]
        return texts[0] if isinstance(inputs, str) else texts

    generate = sync_method(generate_async)

    def _model_for(self, method: str, session: object = None) -> ModelProtocol:
        other = "chat" if method == "stream_chat" else "stream_chat"
        is_other = self._writes == frozenset({other})

        def below(request: Request) -> Any:
            if is_other:
                return self._through(other, request.messages, request.parameters)
            return self._below(request.messages, request.parameters, session)

        return _Part(self.name, below)


class _Part:
    """A model that answers by a part of another."""

    def __init__(self, name: str, part: Callable[[Request], Any]) -> None:
        self.name, self._part = name, part

    def stream(self, request: Request) -> Any:
        return self._part(request)


class AsyncTextMixin(AsyncModelMixin):
    """A mixin before a text model's class: `generate` returns a coroutine too."""

    generate_async: Callable[..., Any]

    def generate(self, inputs: str | Sequence[str], session_ids: object = None, **gen_params: object) -> Answers:
        """Return the model's answer to a prompt, or to each of several prompts; see `BaseLLM.generate`."""
        return self.generate_async(inputs, session_ids, **gen_params)


_PROMPTED = ("generate", "complete")
_NAMES = ("stream_chat", "chat", *_PROMPTED)
_BUILT_IN = frozenset(getattr(kind, name, None) for kind in (_TextModel, AsyncTextMixin) for name in _NAMES)


class BaseLLM(_TextModel):
    """A model that continues a prompt, written as in the Lagent documents.

    Args:
        path: folder of the model, or its name at a hub.
        tokenizer_only: load the tokenizer alone.
        template_parser: the class that turns chat messages into a prompt by the meta template.
        meta_template: the form of each role; see `INTERNLM2_META`.
        max_new_tokens: the longest answer, in tokens.
        top_p: the share of probability to sample from.
        top_k: the number of tokens to sample from.
        temperature: 0 always takes the most likely token.
        repetition_penalty: values above 1 make repetitions unlikely.
        stop_words: texts at which an answer ends; they are cut off.

    Attributes:
        gen_params: the parameters by these names. A change applies from the next call on.

    Example:
        >>> class Echo(BaseLLM):
        ...     def generate(self, inputs, **gen_params):
        ...         return inputs.upper()
        >>> Echo("echo").chat([{"role": "user", "content": "hi"}])
        'HI'
    """

    path: str = ""

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

    def _identity(self) -> dict[str, object]:
        return {**super()._identity(), **({"path": self.path} if self.path else {})}


class AsyncBaseLLM(AsyncTextMixin, BaseLLM):
    """A `BaseLLM` whose methods are awaited."""


class BaseAPILLM(BaseLLM):
    """A model behind an interface of chat messages, written as in the Lagent documents.

    Args:
        model_type: name of the model at the server.
        retry: the most attempts for a request.
        template_parser: the class that gives messages the interface's roles by the meta template.
        meta_template: the `api_role` of each role.
        max_new_tokens: the longest answer, in tokens.
        top_p: the share of probability to sample from.
        top_k: the number of tokens to sample from.
        temperature: 0 always takes the most likely token.
        repetition_penalty: penalty on repetitions.
        stop_words: texts at which an answer ends; they are cut off.

    Attributes:
        gen_params: the parameters by these names. A change applies from the next call on.
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


def _text(answer: object) -> str:
    if not isinstance(answer, str):
        raise MalformedAnswerError(
            f"a model's chat and generate return text, not {type(answer).__name__}", repr(answer)
        )
    return answer


def new_pieces(growing: Any) -> Any:
    """Return the new pieces of a growing text, as `stream_chat` yields it; sync or async as that is."""
    known = 0

    def new(item: Sequence[object]) -> str:
        nonlocal known
        piece = str(item[1])[known:]
        known += len(piece)
        return piece

    return (new(each) async for each in growing) if hasattr(growing, "__aiter__") else (new(each) for each in growing)
