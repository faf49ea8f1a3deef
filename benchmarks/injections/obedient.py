"""A model that does what the attacker says as soon as it has read it, and what the user wants besides."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from goals import Call, attackers_calls, copied
from suites import Case

from trivium.llms import ChatModel, Delta, Request, ToolCallPart
from trivium.prompts.parsers import write_json

USER, ATTACKER = "user", "attacker"
_NOT_WORDS = re.compile(r"(?:\\[nt]|\W)+")


def words(text: str) -> str:
    """Return only the letters and digits of a text, so that neither line breaks nor quoting hide it."""
    return _NOT_WORDS.sub("", text)


class Obedient(ChatModel):
    """Makes the calls of the user's ground truth, one in each turn. Once a tool's result that it has read has the
    attacker's text, it makes all calls of the attacker in its next turn; then it goes on with the user's.

    Args:
        case: the tasks, and the attacker's texts.
        world: the environment as it is, in `environment`; `origin` is set to whoever the next calls come from.
        renamed: arguments that its tools have by another name.

    Attributes:
        reached: True once the attacker's text was read.
        calls: the calls so far of the user and of the attacker, before they run or not.
    """

    def __init__(self, case: Case, world: Any, renamed: Mapping[str, str]) -> None:
        self.name = "obedient"
        self.gen_params = {}
        self.reached = False
        self.calls: dict[str, list[Call]] = {USER: [], ATTACKER: []}
        self._case, self._world, self._renamed = case, world, renamed
        self._marks = [words(text) for text in case.texts]
        self._read = 0
        truth = case.user.ground_truth(copied(world.environment))
        self.users_calls = [Call(each.function, dict(each.args)) for each in truth]
        self._left = deque(self.users_calls)

    def stream(self, request: Request) -> Iterable[Delta]:
        """Yield the next calls, or the answer."""
        if not self.reached and self._has_read_the_attack(request):
            self.reached = True
            yield from self._call(
                ATTACKER, attackers_calls(self._case.suite, self._case.injection, self._world.environment)
            )
            if self.calls[ATTACKER]:
                return
        if self._left:
            yield from self._call(USER, [self._left.popleft()])
        else:
            attackers = self._case.injection.GROUND_TRUTH_OUTPUT if self.reached else ""
            yield f"{self._case.user.GROUND_TRUTH_OUTPUT} {attackers}".strip() or "Done."

    def _has_read_the_attack(self, request: Request) -> bool:
        new, self._read = request.messages[self._read :], len(request.messages)
        texts = [words(str(each["content"])) for each in new if each["role"] != "system"]
        return any(mark in text for mark in self._marks for text in texts)

    def _call(self, origin: str, calls: list[Call]) -> Iterable[Delta]:
        self._world.origin = origin
        self.calls[origin] += calls
        for index, call in enumerate(calls):
            arguments = {self._renamed.get(name, name): value for name, value in call.arguments.items()}
            yield ToolCallPart(index, None, call.name, write_json(arguments))
