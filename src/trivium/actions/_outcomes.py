"""Actions for answers without a valid tool call: the end of the run, no call, or an unknown tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from trivium.actions._action import BaseAction, BaseParser, JsonParser, tool_api
from trivium.exceptions import ToolArgumentsError
from trivium.schema import ActionReturn, ActionStatusCode, ActionValidCode


class _PlainParser(JsonParser):
    """Parses plain text too, as the only argument."""

    PARAMETER_DESCRIPTION = ""

    def read(self, inputs: object, names: Sequence[str]) -> Any:
        with suppress(ToolArgumentsError):
            values = super().read(inputs, names)
            if isinstance(values, dict):
                return cast("dict[str, Any]", values)
        return {names[0]: inputs}


class FinishAction(BaseAction):
    """Ends the run with a result, given as text or by name; its return value has the validity FINISH.

    Args:
        description: see `BaseAction`.
        parser: reads the result; default: one that takes plain text as well as JSON.

    Example:
        >>> FinishAction()("It is 8.").format_result()
        'It is 8.'
    """

    def __init__(self, description: Mapping[str, Any] | None = None, parser: type[BaseParser] = _PlainParser) -> None:
        super().__init__(description, parser)

    @tool_api(source="program")
    def run(self, response: str) -> ActionReturn:
        """End the work with its result.

        Args:
            response: the result.
        """
        return ActionReturn(result=[{"type": "text", "content": response}], valid=ActionValidCode.FINISH)


class _Refusal(BaseAction):
    def __init__(self, err_msg: str, **kwargs: Any) -> None:
        kwargs.setdefault("parser", _PlainParser)
        super().__init__(**kwargs)
        self.err_msg = err_msg

    @tool_api(source="program")
    def run(self, err_msg: str | None = None) -> ActionReturn:
        """Return the error message.

        Args:
            err_msg: replaces the default text.
        """
        text, state = err_msg or self.err_msg, ActionStatusCode.API_ERROR
        return ActionReturn(errmsg=text, state=state, valid=ActionValidCode.INVALID)


class InvalidAction(_Refusal):
    """The result of a call of an unknown tool.

    Args:
        err_msg: the text for the model.
        **kwargs: as for `BaseAction`.
    """

    def __init__(self, err_msg: str = "The action is invalid, please check the action name.", **kwargs: Any) -> None:
        super().__init__(err_msg, **kwargs)


class NoAction(_Refusal):
    """The result of an answer that lacks a call.

    Args:
        err_msg: the text for the model.
        **kwargs: as for `BaseAction`.
    """

    def __init__(self, err_msg: str = "Please follow the format", **kwargs: Any) -> None:
        super().__init__(err_msg, **kwargs)
