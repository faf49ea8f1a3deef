"""The agent that reasons and acts in turn, at the documented path."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from operator import attrgetter
from typing import Any, cast

from pydantic import BaseModel, Field, create_model

from trivium.actions import ActionExecutor
from trivium.agents._agent import Agent, MemoryOption
from trivium.agents._typed import T_co
from trivium.agents.stream import Condition, ToolLoop, fill
from trivium.exceptions import AnswerFormatError, ConfigurationError
from trivium.hooks import ActionPreprocessor
from trivium.module import AsyncModule, overridable
from trivium.prompts import PromptTemplate
from trivium.prompts.parsers import JSONParser
from trivium.schema import Message
from trivium.schema.lowlevel import checked, create_object

__all__ = ["AsyncReAct", "ReAct"]

_TEMPLATE = """Answer the question in steps. These tools can be called:
{action_info}

{output_format}"""

_FORMATS = """To call a tool, answer with nothing but this JSON:
{function_format}

Once you know the answer, or need no tool, answer with nothing but this JSON:
{finish_format}"""

_WHOLE = re.compile(r"\{.*|```\w*\n((?!```).)*```", re.DOTALL)


class ActionCall(BaseModel):
    """A call."""

    name: str = Field(description="the tool's name")
    parameters: dict[str, Any] = Field(description="its arguments by name")


class ActionFormat(BaseModel):
    """An answer that calls a tool."""

    thought_process: str = Field(description="what is known, and what is to be found out next")
    action: ActionCall = Field(description="the call")


class FinishFormat(BaseModel):
    """An answer that ends the work."""

    thought_process: str = Field(description="what is known")
    conclusion: str = Field(description="the answer to the question")


def has_conclusion(message: Message) -> bool:
    """Return whether an answer is the last one."""
    formatted: Any = message.formatted
    return isinstance(formatted, Mapping) and "conclusion" in formatted


class ReAct(ToolLoop[T_co]):
    """Thinks, calls a tool, reads the result, and so on until it comes to a conclusion.

    An answer that has not the form asked for is remembered, and the model is told so.

    Args:
        llm: the model; see `Agent`.
        actions: what it may call: actions, tools, functions or configs; one or several.
        template: the instruction, with `{action_info}` and `{output_format}`; text or a `PromptTemplate`.
        memory: the inner agent's; see `Agent`.
        output_format: reads an answer; default: a `JSONParser` of a call or a conclusion.
        aggregator: the inner agent's.
        hooks: turn what was read into a call; default: `ActionPreprocessor()`.
        finish_condition: whether an answer is the last one; default: it has a `conclusion`.
        max_turn: how often the model is asked at most.
        **kwargs: as for `Agent`.

    Raises:
        ConfigurationError: an argument cannot be used.

    Attributes:
        select_agent: the inner agent.
        actions: the executor.

    Example:
        >>> from trivium.testing import ScriptedModel
        >>> def power(base: int, exponent: int) -> int:
        ...     return base**exponent
        >>> call = {"thought_process": "", "action": {"name": "power", "parameters": {"base": 3, "exponent": 5}}}
        >>> end = {"thought_process": "", "conclusion": "243"}
        >>> agent = ReAct(ScriptedModel([json.dumps(call), json.dumps(end)]), [power])
        >>> agent("3 ** 5?").formatted["conclusion"]
        '243'
    """

    @checked
    def __init__(
        self,
        llm: Any,
        actions: Any,
        template: PromptTemplate | str | None = None,
        memory: MemoryOption = True,
        output_format: Any = None,
        aggregator: Any = None,
        hooks: Any = None,
        finish_condition: Condition = has_conclusion,
        max_turn: int = 5,
        **kwargs: Any,
    ) -> None:
        hooks = [ActionPreprocessor()] if hooks is None else hooks
        if output_format is None:
            output_format = JSONParser(_FORMATS, function_format=ActionFormat, finish_format=self._finish_format())
        parser = create_object(output_format)
        if not hasattr(parser, "format_instruction") or not hasattr(parser, "parse_response"):
            raise ConfigurationError(f"{type(parser).__name__} is no parser: give output_format=JSONParser(…), or none")
        self.actions = ActionExecutor(actions, hooks=hooks)
        text = template if isinstance(template, PromptTemplate) else PromptTemplate(template or _TEMPLATE)
        action_info = json.dumps(self.actions.description(), ensure_ascii=False)
        self.select_agent = Agent(
            llm,
            fill(text, action_info=action_info, output_format=parser.format_instruction()),
            memory=memory,
            output_format=_Forgiving(parser),
            aggregator=aggregator,
            hooks=hooks,
        )
        super().__init__(finish_condition, max_turn, template=text.template, **kwargs)  # as the program wrote it

    inner: Agent = cast("Any", property(attrgetter("select_agent"), doc="The agent that is asked."))

    def _finish_format(self) -> type[FinishFormat]:
        """Return the form of the last answer; its conclusion is of the type of the agent's answers."""
        if self.answer_type is None:
            return FinishFormat
        field = FinishFormat.model_fields["conclusion"]
        return create_model("FinishFormat", __base__=FinishFormat, conclusion=(self.answer_type, field))

    @overridable
    async def forward(self, *message: Message, **kwargs: Any) -> Message:
        """Ask, call, and ask again; in an agent of a type the output is the conclusion."""
        answer = await super().forward(*message, **kwargs)
        is_typed = self.answer_type is not None and has_conclusion(answer)
        return answer.replace(output=answer.formatted["conclusion"]) if is_typed else answer

    async def run_call(self, answer: Message) -> Message:
        """Run the action of an answer; of one without form, its error is part of the result."""
        result, found = await self.actions.acall(answer), cast("Mapping[str, Any] | None", answer.formatted)
        fault = isinstance(found, Mapping) and not found.get("action") and found.get("error")
        return result.replace(content=f"{result.content}: {fault}") if fault else result


class AsyncReAct(AsyncModule, ReAct[T_co]):
    """A `ReAct` whose call gives a coroutine."""


class _Forgiving:
    """A parser for which an answer without form is one without action, as is JSON within text, which may be quoted."""

    def __init__(self, parser: Any) -> None:
        self.parser = parser

    def format_instruction(self) -> str:
        return self.parser.format_instruction()

    def format_response(self, parsed: Any) -> str:
        return self.parser.format_response(parsed)

    def parse_response(self, text: str) -> Any:
        try:
            if type(self.parser) is JSONParser and not _WHOLE.fullmatch(text.strip()):
                raise AnswerFormatError("there is text around the JSON; answer with nothing but the JSON", text)
            return self.parser.parse_response(text)
        except AnswerFormatError as error:
            return {"thought_process": text, "action": None, "error": str(error)}
