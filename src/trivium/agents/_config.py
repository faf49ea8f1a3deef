"""The configs of agents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from trivium.actions import ToolMessage
from trivium.agents._answer_format import answer_format
from trivium.module import Module
from trivium.schema import ConfigModel, Message, NoEffect

if TYPE_CHECKING:
    from trivium.knowledge.stores import VectorStore, VectorStoreConfig
    from trivium.language_models import LLMConfig
    from trivium.llms import ModelProtocol
    from trivium.parsing import ParsingConfig

    ModelOption: TypeAlias = ModelProtocol | LLMConfig | Callable[..., Any] | Mapping[str, Any] | str | None
    StoreOption: TypeAlias = VectorStore | VectorStoreConfig | Mapping[str, Any] | None
    ParsingOption: TypeAlias = ParsingConfig | Literal[""] | None
else:  # pydantic: the validators below know more
    ModelOption = StoreOption = ParsingOption = Any


class AgentConfig(ConfigModel):
    """The parts and options of an agent, as a value.

    Args:
        name: the name by which others address the agent: letters, digits, `_` and `-`.
        llm: its model, its model's name or config; None: no model.
        parameters: sampling parameters for each of its requests.
        debug: no effect.
        vecdb: the store in which it searches for documents, or its config; None: no store.
        parsing: a `ParsingConfig` for splitting documents; "": its defaults, None: no parser.
        prompts: no effect; a `PromptsConfig`.
        show_stats: no effect.
        hide_agent_response: no effect.
        add_to_registry: let `from_id` find the agent; it does as soon as its id is asked for.
        respond_tools_only: do not answer a message without tools.
        allow_multiple_tools: run several tool calls of one message; else the model is told to make one at a time.
        human_prompt: no effect.
        system_message: the system instruction.
        handle_llm_no_tool: the agent's answer where the model calls no tool: text, a tool message, "user" or "done"
            (see `NonToolAction`), or a function of the message.
        strict_recovery: ask again, with what was wrong, where an answer does not fit `output_format`.
        enable_orchestration_tool_handling: handle the tools by which a model steers a task (done, send, pass, …).
        output_format: the type of every answer.
        handle_output_format: handle an `output_format` that is a tool message.
        use_output_format: let the model use an `output_format` that is a tool message.
        instructions_output_format: describe the format in the system message.
        output_format_include_defaults: describe fields of the format that have defaults.
        recognize_recipient_in_content: read `TO[name]: text` and a `recipient` in JSON, or in a call, as an address.
        search_for_tools_everywhere: take each JSON object that names a tool for a call wherever it stands in the
            model's answer, also where the model has a tool interface of its own; for models that use theirs badly.
            By default a text is a call only where the model has no other way, and only as the whole answer: a mail
            that a model quotes must not become a call.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str = Field(default="LLM-Agent", pattern=r"^[a-zA-Z0-9_-]+$")
    llm: ModelOption = None
    parameters: dict[str, Any] = Field(default_factory=dict[str, Any])
    debug: Annotated[bool, NoEffect("nothing is printed; observers show what happens in a run")] = False
    vecdb: StoreOption = None
    parsing: ParsingOption = ""
    prompts: Annotated[Any, NoEffect("an agent's texts stand in its own config")] = None
    show_stats: Annotated[bool, NoEffect("nothing is printed; `token_stats_str` has the numbers")] = True
    hide_agent_response: Annotated[bool, NoEffect("nothing is printed; the screen chooses what it displays")] = False
    add_to_registry: bool = True
    respond_tools_only: bool = False
    allow_multiple_tools: bool = True
    human_prompt: Annotated[str, NoEffect("the user port has its own prompt")] = (
        "You (or q, x to leave, or Enter to go on)"
    )
    system_message: str = ""
    handle_llm_no_tool: str | ToolMessage | Callable[[Message], Any] | None = None
    strict_recovery: bool = True
    enable_orchestration_tool_handling: bool = True
    output_format: Any = None
    handle_output_format: bool = True
    use_output_format: bool = True
    instructions_output_format: bool = True
    output_format_include_defaults: bool = True
    recognize_recipient_in_content: bool = True
    search_for_tools_everywhere: bool = False

    @field_validator("llm", "vecdb", "parsing", "output_format")
    @classmethod
    def _is_possible(cls, given: Any, info: ValidationInfo) -> Any:
        is_possible, possible = _POSSIBLE[str(info.field_name)]
        if given is None or is_possible(given):
            return given
        raise ValueError(f"{info.field_name} is {possible}, not {given!r}")


def is_model(given: Any) -> bool:
    """Return whether a value can be a model: one, its name, or a config of one."""
    if isinstance(given, type | Module):
        return False
    is_one = (hasattr(given, "stream") and hasattr(given, "name")) or hasattr(given, "create_model")
    return is_one or given is None or callable(given) or isinstance(given, str) or _is_described(given)


def _is_described(given: Any) -> bool:
    """Return whether a value describes an object; see `trivium.utils.create_object`."""
    return isinstance(given, Mapping) and "type" in given


def _is_store(given: Any) -> bool:
    from trivium.knowledge.stores import VectorStore, VectorStoreConfig

    return isinstance(given, VectorStore | VectorStoreConfig) or _is_described(given)


def _is_parsing(given: Any) -> bool:
    from trivium.parsing import ParsingConfig

    return isinstance(given, ParsingConfig) or given == ""


def _is_format(given: Any) -> bool:
    if isinstance(given, Mapping):
        return _is_described(given)
    if not hasattr(given, "parse_response"):
        answer_format(given)  # its error says what cannot be a type
    return True


_POSSIBLE: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "llm": (is_model, "a model, its name (as 'openai:gpt-5-mini'), its config, or None for no model"),
    "vecdb": (_is_store, "a VectorStore or the config of one, as SQLiteStoreConfig(storage_path='notes.db')"),
    "parsing": (_is_parsing, 'a ParsingConfig, "" for its defaults, or None for no parser'),
    "output_format": (_is_format, "a type, a parser, or the config of one"),
}


class ChatAgentConfig(AgentConfig):
    """The parts and options of a chat agent, as a value. It has those of `AgentConfig` too.

    Args:
        llm: its model, its model's name or config; by default the one that the environment names, looked up at the
            first call. None is no model.
        system_message: the system instruction.
        user_message: the first message of every conversation, as the user's.
        use_tools: tool calls are written as JSON in the text, and described in the system message. That is what is done
            where it is set; where neither this nor `use_functions_api` is, the model's own way is taken, which is
            better with nearly every model.
        use_functions_api: the provider's own tool interface is used; where set, it counts over `use_tools`.
        use_tools_api: no effect.
        use_tools_on_output_format: no effect.
        full_citations: no effect.
        context_overflow_strategy: no effect.
    """

    llm: ModelOption = ""
    system_message: str = "You are a helpful assistant."
    user_message: str | None = None
    use_tools: bool = True
    use_functions_api: bool = False
    use_tools_api: Annotated[bool, NoEffect("providers have only one interface for tools now")] = True
    use_tools_on_output_format: Annotated[
        bool, NoEffect("`use_tools` and `use_functions_api` decide, with a format too")
    ] = True
    full_citations: Annotated[bool, NoEffect("a cited answer always has the text of its sources as data")] = True
    context_overflow_strategy: Annotated[
        Literal["truncate", "drop_turns"], NoEffect("wrap the model in an `OverflowModel` and choose its strategy")
    ] = "truncate"
