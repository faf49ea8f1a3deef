"""The tool by which a model reads on in a result that was cut."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final, cast

from trivium.actions._cut import page_of
from trivium.actions._tool import Tool
from trivium.commander import this_session
from trivium.exceptions import ToolError
from trivium.memory import MemoryManager
from trivium.schema import ActionReturn

READ_MORE: Final = "read_more"
_PAGE, _LONGEST_PAGE = 10_000, 40_000


def how_to_read_on(text: str) -> str:
    """Describe how to read the rest of a cut result. Its id is a hash of its text: ids of calls may repeat."""
    return f'read on with {READ_MORE}(id="{_id_of(text)}", offset={{offset}})'


def _id_of(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()


def read_more_of(memory: MemoryManager) -> Tool:
    """Make a tool by which a model reads more of a cut result, as long as the session's memory has it.

    Args:
        memory: the memory of the agent with the tool.
    """

    def read_more(id: str, offset: int, length: int = _PAGE) -> str:
        """Read more of a result that was cut.

        Args:
            id: the result, as its note says.
            offset: where to begin, in characters.
            length: how many characters to read.
        """
        text = _result(memory, id)
        if text is None:
            raise ToolError(f"there is no result {id} here: take the id of a note, or call the tool again", READ_MORE)
        if not 0 <= offset < len(text):
            raise ToolError(f"the result has {len(text)} characters: read from 0 to {len(text) - 1}", READ_MORE)
        piece, end = page_of(text, offset, max(1, min(length, _LONGEST_PAGE)))
        rest = "this is its end" if end == len(text) else f"it goes on at offset {end}"
        return f"{piece}\n[characters {offset} to {end} of {len(text)}; {rest}]"

    return Tool.of(read_more).replace(effect="read", source="program")  # of what the agent has read already


def _result(memory: MemoryManager, id: str) -> str | None:
    known = memory.get(this_session())
    for message in reversed(known.get_memory() if known is not None else []):
        content = message.content
        if message.tool_call_id is not None and isinstance(content, str) and f'{READ_MORE}(id="{id}"' in content:
            whole = whole_text(message.formatted)
            if _id_of(whole) == id:
                return whole
    return None


def whole_text(returned: object) -> str:
    """Return the complete result of a tool, or its error, as text."""
    if isinstance(returned, dict):  # from a saved state
        returned = ActionReturn(**cast("dict[str, Any]", returned))
    if not isinstance(returned, ActionReturn):
        return str(returned or "")
    return returned.format_result() if returned.errmsg is None else f"error: {returned.errmsg}"
