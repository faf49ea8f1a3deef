"""The public documents as programs: their code blocks, with the few edits that are permitted."""

from __future__ import annotations

import ast
import re
import textwrap
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from project._scripts import langroid_names

__all__ = ["REFERENCE", "Block", "Program", "blocks_of", "edited", "statements"]

REFERENCE: Path = langroid_names.reference_folder()

_FENCE = re.compile(r"^(?P<fence>`{3,})(?P<language>\w*)\n(?P<text>.*?)^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL)

# The whole list of what may be changed in a document's code.
EDITS = (
    (re.compile(r"\blagent\b"), "trivium"),  # the name of the package
    (re.compile(r"\bVllModel\b"), "VllmModel"),  # a slip in the tutorial's import
    (re.compile(r"\bVllmModel\(\n"), "model_in_its_place(\n"),  # the model: any may be put there
    (re.compile(r"\b(Async)?GPTAPI\((?=model_type=|model_path, key=)"), r"\1GPTAPI(**local_server, "),
    (re.compile(r"\(\*\*local_server, model_path,"), "(**local_server, model_type=model_path,"),
    (re.compile(r"YOUR_(OPENAI_|BING_)?API_KEY"), "a-key"),  # the keys
    (re.compile(r'WebBrowser\("BingSearch", '), 'WebBrowser("BingSearch", **local_search, '),  # a server for search
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a document.

    Args:
        language: what the fence says: `python`, `bash`, … or nothing for what is printed.
        text: what stands between the fences.
        line: the line of the document in which it begins.
        prints: what the document shows below it as printed, or None.
    """

    language: str
    text: str
    line: int
    prints: str | None

    @property
    def is_excerpt(self) -> bool:
        """Whether it is a method without its class."""
        return self.text.startswith((" ", "\t"))


def blocks_of(name: str) -> list[Block]:
    """The blocks of a document of the reference, in order."""
    document = (REFERENCE / name).read_text(encoding="utf-8")
    found = list(_FENCE.finditer(document))
    return [_block(document, at, found) for at in range(len(found))]


def _block(document: str, at: int, found: list[re.Match[str]]) -> Block:
    fence, below = found[at], found[at + 1] if at + 1 < len(found) else None
    shown = below is not None and not below["language"] and not document[fence.end() : below.start()].strip()
    line = document.count("\n", 0, fence.start("text")) + 1
    return Block(fence["language"], fence["text"], line, below["text"] if shown and below is not None else None)


def edited(text: str) -> str:
    """A block's code after the permitted edits, and no others."""
    for pattern, replacement in EDITS:
        text = pattern.sub(replacement, text)
    return text


class Program:
    """Runs blocks one after the other, as a reader does who types them into one session.

    Args:
        name: the document, for tracebacks.
        names: what the edits refer to: `model_in_its_place`, `local_server`, `local_search`.
    """

    def __init__(self, name: str, names: dict[str, Any]) -> None:
        self.name = name
        self.names: dict[str, Any] = {"__name__": "__main__", **names}

    def run(self, block: Block) -> str:
        """Run a block; what it has printed."""
        printed = StringIO()
        code = compile(self._placed(edited(block.text), block.line), self.name, "exec")
        with redirect_stdout(printed):
            exec(code, self.names)
        return printed.getvalue()

    @staticmethod
    def _placed(text: str, line: int) -> ast.Module:
        tree = ast.parse(text)
        ast.increment_lineno(tree, line - 1)
        return tree

    def method(self, block: Block, first: str = "...", last: str = "...") -> Any:
        """The function that an excerpt is.

        Args:
            block: a method without its class.
            first: what its first `...` stands for, where it has two.
            last: what its last one stands for.
        """
        lines = textwrap.dedent(edited(block.text)).splitlines()
        dots = [at for at, line in enumerate(lines) if line.strip() == "..."]
        for at, text in zip(dots[::-1], (last, first), strict=False):
            indent = lines[at][: -len("...")]
            lines[at] = textwrap.indent(textwrap.dedent(text), indent)
        names = dict(self.names)
        exec(compile("\n".join(lines), self.name, "exec"), names)
        return next(value for name, value in names.items() if name in ("forward", "__call__") and callable(value))


def statements(block: Block) -> str:
    """What an excerpt does before the model is asked."""
    body = textwrap.dedent(block.text).partition(":\n")[2]
    return textwrap.dedent(body).partition("llm_response")[0].replace("...\n", "")
