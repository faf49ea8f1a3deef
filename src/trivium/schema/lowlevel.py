"""Internals of messages, for trivium's other packages and for authors of extensions."""

from trivium.schema._addresses import recipient_in
from trivium.schema._arguments import attribute, check_arguments, check_name, checked, is_mapping, keywords_of, positive
from trivium.schema._chat_document import Changes, is_tainted, link, linked, links_of, watch
from trivium.schema._lenient_json import DEEPEST, read_json
from trivium.schema._message import check_content, copy_message, message_of
from trivium.schema._models import OlderNames
from trivium.schema._objects import create_object, factory_of, load_class_from_string
from trivium.schema._status import EDITED
from trivium.schema._tool_text import ToolCallReader, WrittenArguments, tool_calls_in, unfence
from trivium.schema._values import copied

__all__ = [
    "DEEPEST", "EDITED", "Changes", "OlderNames", "ToolCallReader", "WrittenArguments", "attribute",
    "check_arguments", "check_content", "check_name", "checked", "copied", "copy_message", "create_object",
    "factory_of", "is_mapping", "is_tainted", "keywords_of", "link", "linked", "links_of", "load_class_from_string",
    "message_of", "positive", "read_json", "recipient_in", "tool_calls_in", "unfence", "watch",
]  # fmt: skip
