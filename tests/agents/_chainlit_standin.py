"""A stand-in for Chainlit, made of what `scripts/chainlit_signatures.py` read from the package.

It shows nothing. What it holds to is the interface: a keyword or a method that Chainlit does not have raises.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Coroutine
from inspect import Parameter, Signature
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["FACTS", "Chainlit"]

FACTS: dict[str, Any] = json.loads((Path(__file__).parent / "chainlit_signatures.json").read_text())


def bound(parameters: list[dict[str, Any]], *args: Any, **kwargs: Any) -> dict[str, Any]:
    """The arguments of a call by name; raises TypeError if the real thing does not take them."""
    made = [
        Parameter(each["name"], getattr(Parameter, each["kind"]), default=Parameter.empty if each["required"] else None)
        for each in parameters
    ]
    return Signature(made).bind(*args, **kwargs).arguments


class Chainlit(ModuleType):
    """The module.

    Attributes:
        seen: what the page was told: the event, and what the message was at that moment.
        answers: what the user answers, in order; None is no answer in time.
    """

    def __init__(self, *answers: str | None) -> None:
        super().__init__("chainlit")
        self.seen: list[tuple[str, dict[str, Any]]] = []
        self.answers = list(answers)
        self.ids = count(1)

    def run_sync(self, co: Coroutine[Any, Any, Any]) -> Any:
        """Run it to its end, as a worker does."""
        assert inspect.iscoroutine(co)
        bound(FACTS["functions"]["run_sync"], co)
        return asyncio.run(co)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if f"{name}.__init__" not in FACTS["methods"]:
            raise AttributeError(name)

        def make(**given: Any) -> _Step:
            return _Step(self, name, given)

        return make


class _Step:
    def __init__(self, page: Chainlit, kind: str, given: dict[str, Any]) -> None:
        values = bound(FACTS["methods"][f"{kind}.__init__"], self, **given)
        self._page, self._kind = page, kind
        self.id = str(values.get("id") or next(page.ids))
        self.content, self.author = values["content"], values.get("author")
        self.type, self.language = values.get("type"), values.get("language")
        self.parent_id, self.is_error = values.get("parent_id"), False

    def _tell(self, event: str, **more: Any) -> None:
        names = ("id", "content", "author", "type", "language", "parent_id")
        now = {name: getattr(self, name) for name in names if getattr(self, name)}
        self._page.seen.append((event, {**now, **more}))

    async def send(self) -> Any:
        bound(FACTS["methods"][f"{self._kind}.send"], self)
        self._tell("send")
        if self._kind == "Message":
            return self
        answer = self._page.answers.pop(0)
        return None if answer is None else {"output": answer}

    async def update(self) -> bool:
        bound(FACTS["methods"][f"{self._kind}.update"], self)
        self._tell("update")
        return True

    async def remove(self) -> bool:
        bound(FACTS["methods"][f"{self._kind}.remove"], self)
        self._tell("remove")
        return True

    async def stream_token(self, *args: Any, **kwargs: Any) -> None:
        token = bound(FACTS["methods"][f"{self._kind}.stream_token"], self, *args, **kwargs)["token"]
        self.content += token
        self._tell("token", token=token)
