"""Actions for what a model does besides calling a tool: it ends, calls none, or calls what is not there."""

from __future__ import annotations

from typing import Any

from trivium.actions._action import BaseAction
from trivium.schema import ActionReturn, ActionStatusCode, ActionValidCode

__all__ = ["FinishAction", "InvalidAction", "NoAction"]


class FinishAction(BaseAction):
    """Ends the run with a result: its outcome has the validity FINISH."""

    def run(self, response: str) -> ActionReturn:
        """End the work with its result.

        Args:
            response: the result.
        """
        return ActionReturn(result=[{"type": "text", "content": response}], valid=ActionValidCode.FINISH)


class _Refusal(BaseAction):
    def __init__(self, err_msg: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.err_msg = err_msg

    def run(self, err_msg: str = "") -> ActionReturn:
        """Say what was wrong.

        Args:
            err_msg: in place of the usual text.
        """
        text, state = err_msg or self.err_msg, ActionStatusCode.API_ERROR
        return ActionReturn(errmsg=text, state=state, valid=ActionValidCode.INVALID)


class InvalidAction(_Refusal):
    """The outcome of a call of a tool that is not there.

    Args:
        err_msg: what the model is told.
        **kwargs: as for `BaseAction`.
    """

    def __init__(self, err_msg: str = "The action is invalid, please check the action name.", **kwargs: Any) -> None:
        super().__init__(err_msg, **kwargs)


class NoAction(_Refusal):
    """The outcome of an answer in which there should have been a call.

    Args:
        err_msg: what the model is told.
        **kwargs: as for `BaseAction`.
    """

    def __init__(self, err_msg: str = "Please follow the format", **kwargs: Any) -> None:
        super().__init__(err_msg, **kwargs)
