"""What a script works with: the names of a package, jobs and handlers that say what they do, and the log of that."""

from __future__ import annotations

import asyncio
import builtins
import threading
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from inspect import isawaitable
from typing import Any, TypeAlias

Body: TypeAlias = Callable[[Any], Any] | None
"""The work of a job or handler, which is given its node; sync, or async."""

ERRORS = {
    "AttributeNotSetError",
    "CommanderAlreadyRunningError",
    "CommanderNotRunError",
    "NotHandlerError",
    "NotTaskerError",
}
"""The documented errors; any other is told by the built-in class that it is."""

GUARD = 30.0
"""Seconds after which a script hangs; nothing waits for it to pass."""

STAGES = ("at_job_start", "at_handler_start", "at_exception", "at_terminate", "at_handler_end", "at_job_end")


class Run:
    """A run of a script on a package."""

    def __init__(self, package: Any, is_async: bool) -> None:
        self.package, self.is_async = package.__name__, is_async
        self.names: Any = import_module(f"{self.package}.commander")
        self.Job, self.BasicJob = self.names.Job, self.names.BasicJob
        self.Callback, self.Commander = self.names.Callback, self.names.CommanderAsync
        self.tasker, self.handler = (mark(self.names.PASS_WORD) for mark in (self.names.tasker, self.names.handler))
        self.commander: Any = None
        self.log: list[str] = []

    def named(self, path: str, name: str) -> Any:
        """A name of another module of the package."""
        return getattr(import_module(f"{self.package}.{path}"), name)

    def say(self, *values: object) -> None:
        self.log.append(" ".join(str(self.plain(value)) for value in values))

    def plain(self, value: Any) -> Any:
        """The value in a form that is the same for both packages, and that JSON can hold."""
        if isinstance(value, BaseException):
            return self.kind(value)
        if isinstance(value, self.Commander):
            return "commander"
        if isinstance(value, self.Job):
            return type(value).__name__
        if hasattr(value, "__handler__"):
            return value.coro.__name__ if hasattr(value, "coro") else repr(value).strip("<").partition(":")[0]
        if isinstance(value, Mapping):
            return {str(key): self.plain(each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if isinstance(value, list | tuple):
            return [self.plain(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
        return value if value is None or isinstance(value, bool | int | float) else str(value)  # a state too

    def kind(self, error: BaseException) -> str:
        """The first class of an error that both packages know."""
        known = (each.__name__ for each in type(error).__mro__)
        return next(each for each in known if each in ERRORS or hasattr(builtins, each) or each == "CancelledError")

    def tried(self, work: Callable[[], Any], expected: type[Exception] | None = None) -> Any:
        """What the work gives; the kind of its error, which is said, where it fails."""
        try:
            return work()
        except BaseException as error:
            self.say("raised", expected.__name__ if expected and isinstance(error, expected) else error)
            return None

    # ---- nodes
    def job(self, name: str, body: Body = None, callback: Any = None) -> Any:
        """A job that says its name, and then does its work."""
        run = self

        class Made(self.Job):
            @run.tasker
            async def task(self) -> Any:
                run.say(name)
                out = body(self) if body is not None else None
                return await out if asyncio.iscoroutine(out) else out

        Made.__name__ = name
        return Made(callback)

    def call(self, name: str, body: Body = None, *arguments: Any, **keywords: Any) -> Any:
        """A called handler that says its name, and then does its work."""

        async def made(me: Any, *arguments: Any, **keywords: Any) -> Any:
            self.say(name)
            out = body(me) if body is not None else None
            return await out if asyncio.iscoroutine(out) else out

        made.__name__ = name
        return self.handler(made)(*arguments, **keywords)

    def watch(self, node: Any, *stages: str) -> Any:
        """The node, which says its stages."""
        for stage in stages or STAGES:
            node.add_callback_functions(which=stage, functions_info={"function": self.noted(stage, node)})
        return node

    def noted(self, stage: str, node: Any) -> Callable[[], None]:
        return lambda: self.say(node, stage)

    # ---- runs
    def run(self, *jobs: Any, auto_exit: bool = True, **options: Any) -> Any:
        """Run jobs on a commander of their own, and return what `run` does."""
        self.commander = self.Commander(**options)
        return self.again(*jobs, auto_exit=auto_exit)

    def again(self, *jobs: Any, auto_exit: bool = True) -> Any:
        """Run jobs on the same commander."""
        if self.is_async:
            return asyncio.run(self.commander.run_async(jobs, auto_exit))
        return self.commander.run(jobs, auto_exit=auto_exit)


Script: TypeAlias = Callable[[Run], Any]
SCRIPTS: dict[str, Script] = {}


def script(function: Script) -> Script:
    """Enter a script, under the name of its function."""
    SCRIPTS[function.__name__] = function
    return function


def outcome(package: Any, scenario: Mapping[str, Any], *, is_async: bool = False, guard: float = GUARD) -> Any:
    """What came of a script: what it said, and its end: what it returned, the error that it raised; or it hangs."""
    run, ends = Run(package, is_async), list[dict[str, Any]]()

    async def awaited(out: Awaitable[Any]) -> Any:
        return await out

    def main() -> None:
        try:
            out = SCRIPTS[scenario["name"]](run)
            ends.append({"returned": run.plain(asyncio.run(awaited(out)) if isawaitable(out) else out)})
        except BaseException as error:
            ends.append({"raised": run.kind(error)})

    thread = threading.Thread(target=main, daemon=True)
    thread.start()
    thread.join(guard)
    return {"log": list(run.log), "end": ends[0] if ends else "hangs"}
