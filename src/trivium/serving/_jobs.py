"""Jobs as modules, so that they are served as agents are."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from trivium.commander import CommanderAsync, Job
from trivium.exceptions import ConfigurationError
from trivium.module import Module
from trivium.schema import Message
from trivium.schema.lowlevel import checked


class JobModule(Module):
    """A job as a module: each call makes a new one, runs it with all that it starts, and answers with its result.

    Args:
        make: the class of the job, or a function that makes one; it is given the content of the message, if it takes
            an argument.
        name: default: that of the class or function.

    Raises:
        ConfigurationError: `make` cannot be called so.

    Example:
        >>> from trivium.commander import PASS_WORD, tasker
        >>> class Shout(Job):
        ...     def __init__(self, text):
        ...         super().__init__()
        ...         self.text = text
        ...     @tasker(PASS_WORD)
        ...     async def task(self):
        ...         await self.exit_commander(return_result=self.text.upper())
        >>> JobModule(Shout)("hello").content
        'HELLO'
    """

    @checked
    def __init__(self, make: Callable[..., Job], name: str | None = None) -> None:
        super().__init__(name=name or getattr(make, "__name__", "job"))
        given = inspect.signature(make).parameters.values()
        takes = [each for each in given if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
        needed = [each for each in takes if each.default is each.empty]
        if len(needed) > 1:
            raise ConfigurationError(
                f"{self.name} needs {len(needed)} arguments; a served job takes the content of the message, or nothing"
            )
        self._make, self._takes_content = make, bool(needed)

    async def forward(self, message: Message) -> Any:
        """Make a job and run it."""
        job = self._make(message.content) if self._takes_content else self._make()
        return await CommanderAsync[Any]().run_async(job, auto_exit=True)
