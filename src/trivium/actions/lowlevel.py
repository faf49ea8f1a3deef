"""The internal API of tools, for trivium's own packages and authors of extensions.

Stable enough to build on: changes of these names are in the changelog.
"""

from trivium.actions._action import describe_tool, invalid_api
from trivium.actions._displayed import approval_question, call_text
from trivium.actions._done_tools import is_done_tool, is_done_tool_alone, result_of, text_of_result
from trivium.actions._exact_json import read_exact_json, refuse_booleans
from trivium.actions._executor import ask_ahead, list_actions
from trivium.actions._json_schema import enclosed_schema, remove_titles
from trivium.actions._parameters import with_lists
from trivium.actions._read_more import read_more_of
from trivium.actions._run import HookFailedError, reason_of
from trivium.actions._strict import is_json_array, is_json_object
from trivium.actions._text_form import faulty_call
from trivium.actions._texts import sendable_json
from trivium.actions._tool import describe_errors, refuse_twins
from trivium.actions._tool_message import classes_by_name, guidance_of
from trivium.actions._warned import warn_of_text

__all__ = [
    "HookFailedError",
    "approval_question",
    "ask_ahead",
    "call_text",
    "classes_by_name",
    "describe_errors",
    "describe_tool",
    "enclosed_schema",
    "faulty_call",
    "guidance_of",
    "invalid_api",
    "is_done_tool",
    "is_done_tool_alone",
    "is_json_array",
    "is_json_object",
    "list_actions",
    "read_exact_json",
    "read_more_of",
    "reason_of",
    "refuse_booleans",
    "refuse_twins",
    "remove_titles",
    "result_of",
    "sendable_json",
    "text_of_result",
    "warn_of_text",
    "with_lists",
]
