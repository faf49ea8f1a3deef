"""Tool messages as XML text: the reader and the writer. No I/O.

The reader knows elements, CDATA and the five entities of XML, and nothing else: no declaration has an effect, nothing
is looked up, and each character is read once. The content of an element is read by its field's type, so that code with
angle brackets in a text field is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, cast, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from trivium.actions._strict import is_json_object
from trivium.schema.lowlevel import DEEPEST, read_json

_NAME = r"[^\W\d][\w.-]*+"
_TAG = re.compile(rf"<(/?)({_NAME})(\s[^<>]*+|/?+)>")
_KEY = re.compile(r"""\bkey\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_NIL = re.compile(r"""\bnil\s*=\s*["']true["']""")
_ENTITY = re.compile(r"&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_PROLOGUE = re.compile(r"\s*+(?:<\?[^<>]*+>\s*+)?+")
_OPEN, _CLOSE = "<![CDATA[", "]]>"


class Shape(NamedTuple):
    """The kind of an element's content.

    Args:
        kind: "model", "list", "dict", "text" for one value, or "any".
        of: the model; the type of the items or values; the types of a value.
    """

    kind: Literal["model", "list", "dict", "text", "any"]
    of: Any


def shape_of(hint: object) -> Shape:
    """The kind of content of an element for a type; None does not count as a type."""
    origin, of = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return shape_of(of[0])
    if origin in (Union, UnionType):
        kinds = [shape_of(each) for each in of if each is not type(None)]
        if len(kinds) == 1:
            return kinds[0]
        return Shape("text", of) if all(each.kind == "text" for each in kinds) else Shape("any", None)
    kind = origin or hint
    if kind is Any or kind is object:
        return Shape("any", None)
    if not isinstance(kind, type) or issubclass(kind, str | bytes):
        return Shape("text", (hint,))
    if issubclass(kind, BaseModel):
        return Shape("model", kind)
    if issubclass(kind, Mapping):
        return Shape("dict", of[1] if len(of) == 2 else Any)
    if issubclass(kind, Sequence | AbstractSet):
        is_alike = len(of) == 1 or (len(of) == 2 and of[1] is Ellipsis)
        return Shape("list", of[0] if is_alike else Any)
    return Shape("text", (hint,))


def is_verbatim(name: str, field: FieldInfo | None) -> bool:
    """True if a field's text is written without escapes."""
    extra = None if field is None else field.json_schema_extra
    return name == "code" or (is_json_object(extra) and bool(extra.get("verbatim")))


# ---- reading
def read_element(text: str, root: str, model: type[BaseModel]) -> dict[str, Any]:
    """Read the values in an element, by the fields of a model.

    Raises:
        ValueError: there is no such element, or it is not well formed.
    """
    prologue = _PROLOGUE.match(text)
    found = _TAG.match(text, prologue.end() if prologue else 0)
    if found is None or found[1] or found[2] != root:
        raise ValueError(f"it does not begin with <{root}>")
    reader = _Reader(text, found.end())
    values = reader.element(found, Shape("model", model), False, DEEPEST)
    if text[reader.at :].strip():
        raise ValueError(f"there is more behind </{root}>")
    if not is_json_object(values):
        raise ValueError(f"<{root}> holds text, not an element for each field")
    return values


class _Reader:
    def __init__(self, text: str, at: int) -> None:
        self.text, self.at = text, at

    def element(self, tag: re.Match[str], shape: Shape, verbatim: bool, levels: int) -> Any:
        """Read the content of an element, from the end of its opening tag on."""
        if levels == 0:
            raise ValueError("too many levels")
        is_empty = tag[3].endswith("/")
        if shape.kind == "text":
            pieces = [] if is_empty else self._pieces(tag[2])
            text = "".join(_text_of(pieces, verbatim))
            return None if not text and _NIL.search(tag[3]) else _typed(text, shape.of)
        if is_empty and _NIL.search(tag[3]):
            return None
        children = list[tuple[str, object]]()
        text = "" if is_empty else self._children(tag[2], shape, children, levels)
        if shape.kind == "any" and not children:
            return text
        if not children and text[:1] in ("{", "["):  # written as JSON within the element
            return read_json(text)
        if not children and text:
            return text
        is_list = all(name == "item" for name, _ in children) if shape.kind == "any" else shape.kind == "list"
        return [value for _, value in children] if is_list else dict(children)

    def _children(self, name: str, shape: Shape, found: list[tuple[str, object]], levels: int) -> str:
        """Read the elements within one up to its end; return the text between them."""
        said: list[tuple[str, bool]] = []
        while True:
            tag = self.next_tag(said)
            if tag is None:
                raise ValueError(f"<{name}> does not end")
            if tag[1]:
                if tag[2] != name:
                    raise ValueError(f"</{tag[2]}> stands where </{name}> should")
                return "".join(_text_of(said, False))
            is_aside = tag[2].startswith("_")
            inner, verbatim = (Shape("text", ()), False) if is_aside else _child(shape, tag[2])
            value = self.element(tag, inner, verbatim, levels - 1)
            key = _KEY.search(tag[3])
            of = tag[2] if key is None else _decoded(key[1] if key[1] is not None else key[2])
            if not is_aside:
                found.append((of, value))

    def next_tag(self, said: list[tuple[str, bool]]) -> re.Match[str] | None:
        """Move to the end of the next tag; add the text before it to `said`, each piece with True if it is CDATA."""
        while True:
            at = self.text.find("<", self.at)
            if at < 0:
                return None
            said.append((self.text[self.at : at], False))
            self.at = at
            tag = _TAG.match(self.text, at)
            if tag is not None:
                self.at = tag.end()
                return tag
            self._mark(said)

    def _mark(self, said: list[tuple[str, bool]]) -> None:
        """Move to the end of CDATA, a comment, or a plain <, none of which opens an element."""
        for begin, end in ((_OPEN, _CLOSE), ("<!--", "-->")):
            if self.text.startswith(begin, self.at):
                close = self.text.find(end, self.at + len(begin))
                if close < 0:
                    raise ValueError(f"{begin} does not end")
                if begin is _OPEN:
                    said.append((self.text[self.at + len(begin) : close], True))
                self.at = close + len(end)
                return
        said.append(("<", False))
        self.at += 1

    def _pieces(self, name: str) -> list[tuple[str, bool]]:
        """Read the text up to the end of an element that has text alone; tags in it are text."""
        said: list[tuple[str, bool]] = []
        end = re.compile(rf"</{re.escape(name)}\s*+>|<!\[CDATA\[")
        while True:
            found = end.search(self.text, self.at)
            if found is None:
                raise ValueError(f"<{name}> does not end")
            said.append((self.text[self.at : found.start()], False))
            self.at = found.start()
            if found[0] != _OPEN:
                self.at = found.end()
                return said
            self._mark(said)


def _child(shape: Shape, name: str) -> tuple[Shape, bool]:
    """The kind of content of an element within another; True if it is verbatim."""
    if shape.kind == "model":
        fields: Mapping[str, FieldInfo] = shape.of.model_fields
        field = fields.get(name)
        return (Shape("any", None) if field is None else shape_of(field.annotation)), is_verbatim(name, field)
    return (shape_of(shape.of) if shape.kind in ("list", "dict") else Shape("any", None)), False


def _text_of(pieces: list[tuple[str, bool]], verbatim: bool) -> Iterator[str]:
    """The text of an element: CDATA is exact; other text loses the space at its ends."""
    if any(exact for _, exact in pieces):
        yield from (piece if exact else _decoded(piece) for piece, exact in pieces if exact or piece.strip())
        return
    text = _decoded("".join(piece for piece, _ in pieces))
    fenced = text.strip()
    if verbatim and not (fenced.startswith("```") and fenced.endswith("```") and len(fenced) >= 6):
        yield text
    elif verbatim:
        yield fenced[3:-3].strip()
    else:
        yield fenced


def _decoded(text: str) -> str:
    return _ENTITY.sub(_character, text) if "&" in text else text


def _character(found: re.Match[str]) -> str:
    if found[3] is not None:
        return _ENTITIES[found[3]]
    code = int(found[1]) if found[1] is not None else int(found[2], 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else found[0]


def _typed(text: str, hints: tuple[object, ...]) -> Any:
    """The text, or the value of a `Literal` or an `Enum` that is written so."""
    for value in _choices(hints):
        if not isinstance(value, str) and _written(value) == text:
            return value
    return text


def _choices(hints: tuple[object, ...]) -> Iterator[Any]:
    for hint in hints:
        if get_origin(hint) is Annotated:
            yield from _choices(get_args(hint)[:1])
        elif get_origin(hint) is Literal:
            yield from (each.value if isinstance(each, Enum) else each for each in get_args(hint))
        elif isinstance(hint, type) and issubclass(hint, Enum):
            yield from (each.value for each in hint)


# ---- writing
def write_element(name: str, value: object, indent: str = "", verbatim: bool = False) -> str:
    """Write a value as an element; models and collections as elements within it."""
    start, end, inner = f"{indent}<{_tag(name)}>", f"</{name if _is_name(name) else 'entry'}>\n", indent + "  "
    if value is None:
        return f'{start[:-1]} nil="true"/>\n'
    if isinstance(value, BaseModel):
        parts = [write_element(each, item, inner, exact) for each, item, exact in fields_of(value)]
    elif isinstance(value, Mapping):
        entries = cast("Mapping[object, object]", value).items()
        parts = [write_element(_written(to_jsonable_python(key)), item, inner) for key, item in entries]
    elif isinstance(value, Sequence | AbstractSet) and not isinstance(value, str | bytes):
        parts = [write_element("item", item, inner) for item in cast("Iterable[object]", value)]
    else:
        return f"{start}{escape(_written(to_jsonable_python(value)), verbatim)}{end}"
    return f"{start}\n{''.join(parts)}{indent}{end}"


def fields_of(model: BaseModel) -> Iterator[tuple[str, object, bool]]:
    """The fields of a model that are written: name, value, and True if verbatim. A default of None is left out."""
    extra = type(model).model_config.get("json_schema_extra")
    hidden = extra.get("exclude", ()) if is_json_object(extra) else ()
    for name, value in model:
        field = type(model).model_fields.get(name)
        is_default = value is None and field is not None and not field.is_required() and field.default is None
        if name not in hidden and not is_default:
            yield name, value, is_verbatim(name, field)


def _tag(name: str) -> str:
    return name if _is_name(name) else f'entry key="{_ampersands(name).replace(chr(34), "&quot;")}"'


def _is_name(name: str) -> bool:
    return re.fullmatch(_NAME, name) is not None and not name.startswith("_") and name != "entry"


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _ampersands(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escape(text: str, verbatim: bool) -> str:
    """Escape a text, or put it into CDATA if it is verbatim or has space at its ends."""
    if verbatim or text != text.strip():
        return f"{_OPEN}{text.replace(_CLOSE, f']]{_CLOSE}{_OPEN}>')}{_CLOSE}"
    return _ampersands(text)


# ---- finding
def find_elements(text: str, root: str) -> list[str]:
    """Find the elements of a name in a text, outside CDATA; an opening tag, or the last closing one, may be missing."""
    marks = re.compile(rf"<!\[CDATA\[|<(/?){re.escape(root)}(?:\s[^<>]*+)?+>")
    found: list[str] = []
    start, after, at = -1, 0, 0
    while (mark := marks.search(text, at)) is not None:
        at = mark.end()
        if mark[0] == _OPEN:
            close = text.find(_CLOSE, at)
            if close < 0:
                break
            at = close + len(_CLOSE)
        elif not mark[1]:
            start = mark.start()
        else:
            first = _TAG.search(text, after, mark.start()) if start < 0 else None
            if start >= 0:
                found.append(text[start:at])
            elif first is not None and not first[1]:
                found.append(f"<{root}>{text[first.start() : at]}")
            start, after = -1, at
    if start >= 0:
        found.append(f"{text[start:]}</{root}>")
    return found
