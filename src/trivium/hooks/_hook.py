"""The hook: four methods that can change messages on their way."""

from __future__ import annotations

from typing import Any, Final

from trivium.exceptions import ArgumentTypeError, ConfigurationError
from trivium.schema import Message
from trivium.schema.lowlevel import create_object

_BEGINNINGS: Final = ("before_", "after_")


class Hook:
    """Base of hooks: override the methods that you need, as `def` or `async def`; they run in place and must be fast.

    Each method gets a copy: edit it in place and return None, or return its replacement.
    Hooks run in the order in which they were registered, on the way in and on the way out.

    Raises:
        ArgumentTypeError: a subclass has a method like `before_agnt`, which nothing calls; the text suggests one.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        methods = [name for name in vars(Hook) if name.startswith(_BEGINNINGS)]
        for name in vars(cls):
            if name.startswith(_BEGINNINGS) and name not in methods:
                text, advice = f"{cls.__name__} is a hook, and nothing calls its", "Begin a name of your own with _."
                raise ArgumentTypeError.unknown(name, methods, text, advice)

    def before_agent(self, agent: Any, messages: list[Message], session_id: Any) -> Any:
        """Change the messages that a module is called with; return a list or None."""

    def after_agent(self, agent: Any, message: Message, session_id: Any) -> Any:
        """Change the message that a module answers with; return a message or None."""

    def before_action(self, executor: Any, message: Message, session_id: Any) -> Any:
        """Change the message that an executor is called with; return a message or None."""

    def after_action(self, executor: Any, message: Message, session_id: Any) -> Any:
        """Change the message that an executor answers with; return a message or None."""


def hook_of(hook: Hook | dict[str, Any]) -> Hook:
    """Return a hook, or the one that a config describes.

    Raises:
        ConfigurationError: it is none.
    """
    if isinstance(made := create_object(hook), type) or not hasattr(made, "before_agent"):
        name = f"the class {made.__name__}" if isinstance(made, type) else type(made).__name__
        raise ConfigurationError(f"{name} is no hook: give an object of a subclass of trivium.Hook")
    return made


def as_returned(hook: Hook, method: str, value: object) -> Message:
    """Return a message that a method of a hook returned.

    Raises:
        ConfigurationError: it is none.
    """
    if isinstance(value, Message):
        return value
    raise ConfigurationError(f"{type(hook).__name__}.{method} returns messages, or None, not {value!r:.200}")


class RemovableHandle:
    """The handle that registering a hook returns.

    Args:
        hooks: the hooks of the module, by id.
        id: the key of this one.
    """

    __slots__ = ("_hooks", "id")

    def __init__(self, hooks: dict[int, Hook], id: int) -> None:
        self._hooks, self.id = hooks, id

    def remove(self) -> None:
        """Take the hook out; doing it twice is harmless."""
        self._hooks.pop(self.id, None)
