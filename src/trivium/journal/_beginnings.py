"""What the calls of a run begin with: recorded by the first attempt, and held by later ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from trivium.commander.lowlevel import CallNode, change_scope, scope_of
from trivium.exceptions import AgentChangedError
from trivium.journal._codec import Codec
from trivium.journal._memories import HasState, RunMemories

if TYPE_CHECKING:
    from trivium.policies import Policy


class Beginnings:
    """What the calls of an attempt begin with.

    Args:
        run_id: the run.
        codec: the form of values.
        memories: what modules remember in the attempt.
    """

    def __init__(self, run_id: str, codec: Codec, memories: RunMemories) -> None:
        self._run_id, self._codec, self._memories = run_id, codec, memories

    def body_of(self, node: CallNode, asked: object, state: HasState | None) -> str:
        """Return what a call begins with, as JSON.

        Args:
            node: the node of the call.
            asked: what it is asked, as JSON's own values.
            state: the module whose memory is recorded; None: none is.
        """
        body: dict[str, Any] = {"asked": asked}
        if node.session_id != 0:
            body["session"] = self._codec.encode(node.session_id)
        if node.scope.policies:
            body["policies"] = [each.as_json() for each in node.scope.policies]
        if state is not None:
            body |= self._memories.saved(state, node.session_id)
        return json.dumps(body, ensure_ascii=False)

    def hold(self, node: CallNode, body: str, state: HasState | None) -> None:
        """Have a call go on with what it began with: its policies, beside those that it is given, and its memory.

        Args:
            node: the node of the call.
            body: what it began with.
            state: the module that is to remember it; None: it does already.

        Raises:
            AgentChangedError: it began under a policy of a class of its own, and none of that class is given.
        """
        if '"policies"' in body:
            given: tuple[Policy, ...] = node.scope.policies
            kept = [self._policy(node, form) for form in json.loads(body).get("policies", ())]
            change_scope(node, policies=(*kept, *(each for each in given if each not in kept)))
            lost = [each for each in kept if each not in given]
            for above in node.ancestor_chain if lost else ():  # a task handles there what its agent calls
                if scope_of(above).journal is node.scope.journal:
                    held = scope_of(above).policies
                    change_scope(above, policies=(*held, *(each for each in lost if each not in held)))
        if state is not None:
            self._memories.rewind(state, node.session_id, body)

    def _policy(self, node: CallNode, form: dict[str, Any] | str) -> Policy:
        """Return the policy that has this form."""
        given: tuple[Policy, ...] = node.scope.policies
        for each in given:
            if each.as_json() == form:
                return each
        if not isinstance(form, str):
            from trivium.policies import Policy  # most runs have none

            return Policy.from_json(form)
        raise AgentChangedError(
            f"{node.name} began in the run {self._run_id!r} under a policy of the class {form}, and does not go on "
            f"without one. Nothing was asked or done. Give it to the agent, or to the call, as policy={form}(…)",
            self._run_id,
            node.name,
            ("policy",),
        )
