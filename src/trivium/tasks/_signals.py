"""The words and tools by which agents steer a task, what one message means to it, and messages that repeat."""

from __future__ import annotations

import re
from collections import Counter, deque
from itertools import pairwise
from operator import eq
from typing import Any, Final, NamedTuple

from trivium.actions.lowlevel import is_done_tool
from trivium.agents import Agent
from trivium.agents.lowlevel import calls_in, overrides
from trivium.schema import Entity, Message, ToolCall
from trivium.schema.lowlevel import is_tainted
from trivium.schema.signals import DONE, NO_ANSWER, PASS, SEND_TO, USER_QUIT_STRINGS
from trivium.tasks._config import TaskConfig

_USER = Entity.USER  # a member is slow to look up
QUIT_WORDS: Final = frozenset(word.lower() for word in USER_QUIT_STRINGS)
_DONE = re.compile(r"(?<!\w)DONE(?!\w):?")
_SEND = re.compile(r"__SEND__:([\w-]+)[:,.;]?")
_PASS_ON = re.compile(r"__PASS__:([\w-]+)")


class Signs(NamedTuple):
    """Everything that a task reads in one message. It is read once, when the message arrives.

    Args:
        message: the message; None is a responder's silence.
        content: its content when it was read.
        entity: the entity of its author.
        is_empty: it has no text, call, attachment or file; where signals are recognised, PASS alone is empty too.
        is_refusal: its text is NO_ANSWER and nothing else.
        has_refusal: its text contains NO_ANSWER.
        says_done: its text contains the signal DONE.
        is_done_tool: it holds a tool that ends the task.
        passes: it hands the pending message on to another responder.
        quits: the user asks to end the task.
        calls: the tool calls in it, known to the agent or not.
    """

    message: Message | None = None
    content: Any = None
    entity: Entity | None = None
    is_empty: bool = True
    is_refusal: bool = False
    has_refusal: bool = False
    says_done: bool = False
    is_done_tool: bool = False
    passes: bool = False
    quits: bool = False
    calls: tuple[ToolCall, ...] = ()


SILENCE: Final = Signs()


def read_signs(message: Message, agent: Agent, config: TaskConfig) -> Signs:
    """Read a message for a task of this agent."""
    content, extra = message.content, message.__pydantic_extra__
    entity = extra.get("entity")
    text = content if isinstance(content, str) else ""
    ends = "attachments" in extra and is_done_tool(message)
    signals = config.recognize_string_signals
    is_steering = signals and not ends and not ("metadata" in extra and is_tainted(message))
    says_done = DONE in text and is_steering and (config.done_as_substring or bool(_DONE.search(text)))
    is_empty = content is None or (isinstance(content, str) and text.strip() in (("", PASS) if signals else ("",)))
    has_refusal = NO_ANSWER in text
    return Signs(
        message,
        content,
        entity,
        is_empty and not any(extra.get(name) for name in ("tool_calls", "attachments", "tool_results", "files")),
        has_refusal and text.strip(" \n\t,.!?:") == NO_ANSWER,
        has_refusal,
        says_done,
        ends,
        PASS in text and is_steering and parse_route(message, agent=agent).passes,
        entity is _USER and (ends or says_done or str(content).strip().lower() in QUIT_WORDS),
        calls_in(agent, message) if "origin" in extra else (),
    )


def without_done(content: Any, *, as_substring: bool = False) -> Any:
    """Return the content without the word that ended the task.

    Example:
        >>> without_done("DONE: 42"), without_done("ABANDONED ship")
        ('42', 'ABANDONED ship')
    """
    if not isinstance(content, str):
        return content
    return (content.replace(DONE, "") if as_substring else _DONE.sub("", content)).strip()


class Route(NamedTuple):
    """The destination of a response.

    Args:
        passes: the pending message stays, since this responder adds nothing.
        receiver: the name of the addressee, or None.
        content: the text without the address.
    """

    passes: bool
    receiver: str | None
    content: Any


def parse_route(message: Message, addressing_prefix: str = "", agent: Agent | None = None) -> Route:
    """Parse the addresses in a response: the last one counts, and the text after it is sent.

    Data contains no addresses, and neither does what calls a tool: what does is said by the agent's own
    `has_tool_message_attempt`, if it has one.

    Example:
        >>> parse_route(Message(content="__SEND__:sub-2 what is 2+2?"))
        Route(passes=False, receiver='sub-2', content='what is 2+2?')
    """
    content, receiver = message.content, message.receiver
    if not isinstance(content, str) or ("__" not in content and not addressing_prefix):
        return Route(False, receiver, content)
    own = agent if agent is not None and overrides(agent, "has_tool_message_attempt") else None
    calls = message.tool_calls if own is None else own.has_tool_message_attempt(message)
    if is_done_tool(message) or is_tainted(message) or (calls and not content.startswith((PASS, SEND_TO))):
        return Route(False, receiver, content)
    found = _PASS_ON.search(content)
    if found is not None or PASS in content:
        return Route(True, None if found is None else found[1], content)
    addresses = list(_SEND.finditer(content))
    if addressing_prefix:
        addresses += re.finditer(rf"(?<!\S){re.escape(addressing_prefix)}([\w-]+)[:,.;]?", content)
    if not addresses:
        return Route(False, receiver, content)
    last = max(addresses, key=lambda match: match.start())
    text = content[last.end() :].strip()
    return Route(not text, last[1], text or content)


class LoopDetector:
    """Detects messages that repeat endlessly.

    It knows three kinds of loop: an exact cycle of messages; a few messages that are much more frequent than all others
    and recently the only ones; and a refusal at every second step, whatever is said between.

    Args:
        config: the longest cycle, and the certainty that is needed.
    """

    __slots__ = ("_config", "_refused_at", "_rounds", "counts", "last", "refusals")
    counts: Counter[int]
    last: deque[int]
    refusals: int

    def __init__(self, config: TaskConfig) -> None:
        self._config, self.counts, self._rounds = config, Counter(), max(2, config.inf_loop_wait_factor)
        self.last = deque(maxlen=config.inf_loop_cycle_len * self._rounds)
        self._refused_at, self.refusals = -5, 0

    def add(self, signs: Signs) -> None:
        """Count the message that a step led to."""
        message, calls = signs.message, signs.calls
        if message is not None and self._config.inf_loop_cycle_len:
            said = (str(message.content), message.sender, id(signs.entity), message.receiver)
            seen = hash((*said, *[(call.name, call.arguments) for call in calls]) if calls else said)
            self.counts[seen] += 1
            self.last.append(seen)

    def add_refusal(self, step: int) -> None:
        """Count a refusal that a step led to."""
        self.refusals = self.refusals + 1 if self._refused_at == step - 2 else 0
        self._refused_at = step

    def find(self, step: int) -> str:
        """Return a description of the loop after so many steps; "" if there is none. One round is none."""
        longest, wait = self._config.inf_loop_cycle_len, self._rounds
        if self.refusals > self._config.inf_loop_wait_factor:
            return "every second message is a refusal"
        if longest <= 0 or step % longest or self.counts.total() < wait * longest:
            return ""
        last = list(self.last)
        for length in range(1, longest + 1):
            latest = last[-wait * length :]
            if all(map(eq, latest[length:], latest)):
                return f"a cycle of {length} messages repeats"
        common = self.counts.most_common(longest + 1)
        amounts = [amount for _, amount in common]
        factor = self._config.inf_loop_dominance_factor
        drops = [at for at, (more, less) in enumerate(pairwise(amounts)) if more > factor * less and more - less > wait]
        count = drops[-1] + 1 if drops else len(common)
        if count > longest:
            return ""
        is_alone = set(last[-wait * count :]) == {seen for seen, _ in common[:count]}
        return f"{count} messages repeat" if is_alone else ""
