"""Runs a document as its reader would: its files saved, its programs and commands run in one folder.

A problem is a line of text that names the place; a document without problems is right. The conventions:

- the Python blocks of a document are one program; one that reads `sys.argv` is a program of its own;
- a `text` block directly below a Python block is what it prints, to the letter;
- a `console` block holds commands (`$ …`), each with what it prints, if that is shown; `…` there stands for
  anything within a line. A command succeeds, unless it ends with `|| true`;
- `make` is asked what it would do (`--dry-run`);
- a server of ours answers for the embedded model (`trivium extract` without `--model`), for any `--model ….gguf`,
  and for the server at `http://127.0.0.1:8000/v1`;
- of commands in a block `not run: WHY`, the options must exist.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from typer.main import get_command

from trivium.cli._app import app

from ._blocks import LANGUAGES, Block, blocks_in
from ._examples import command_in, started
from ._program import joined_blocks

__all__ = ["ROOT", "Command", "Runner", "commands_in", "save"]

ROOT = Path(__file__).parents[2]
_BIN = Path(sys.executable).parent
_GUARD = 60
_URL = "http://127.0.0.1:8000/v1"
_ENDED = "\x01ended "
_OURS = ("TRIVIUM_", "OPENAI_")


class Command(NamedTuple):
    """A command of a console block, and what is shown below it."""

    text: str
    shown: str
    line: int


def commands_in(block: Block) -> list[Command]:
    """The commands of a console block."""
    found: list[Command] = []
    for number, line in enumerate(block.text.splitlines(keepends=True), block.line):
        if line.startswith("$ "):
            found.append(Command(line[2:], "", number))
        elif found and found[-1].text.endswith("\\\n"):
            found[-1] = found[-1]._replace(text=found[-1].text + line)
        elif found:
            found[-1] = found[-1]._replace(shown=found[-1].shown + line)
        else:
            found.append(Command("false", line, number))  # a block that begins with output is wrong
    return found


def save(blocks: Iterable[Block], folder: Path) -> Iterator[str]:
    """Save the files that blocks are, and give what is wrong with them."""
    saved: set[str] = set()
    for block in blocks:
        if block.file is None:
            continue
        if block.file in saved:
            yield f"{block.line}: {block.file} is saved twice"
        saved.add(block.file)
        path = folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")


class Runner:
    """Runs documents in a folder.

    Args:
        folder: where files are saved and commands run.
        url: an OpenAI-compatible server that stands in for all models.
        environment: more variables.
    """

    def __init__(self, folder: Path, url: str, environment: Mapping[str, str] | None = None) -> None:
        self.folder, self.url = folder, url
        kept = {key: value for key, value in os.environ.items() if not key.startswith(_OURS)}
        commands = folder / "the command"
        command_in(commands)
        path = os.pathsep.join([str(commands), str(_BIN), os.environ["PATH"]])
        ours = {"PATH": path, "PYTHONWARNINGS": "error", "COLUMNS": "80", "TRIVIUM_MODEL": "openai:stand-in"}
        self.environment = {**kept, **ours, "PYTHONPATH": str(ROOT / "src"), **(environment or {})}

    def problems(self, name: str, document: str) -> list[str]:
        """What is wrong in a document; `name` is how it is called in the texts."""
        blocks = blocks_in(document)
        found = list(save(blocks, self.folder))
        found += [f"{line}: {text}" for line, text in self._checks(blocks)]
        found += [f"{line}: {text}" for line, text in self._python(document)]
        for block in blocks:
            if block.language == "console" and block.runs:
                found += [f"{line}: {text}" for line, text in self._console(block)]
        return [f"{name}:{text}" for text in found]

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a command in the folder."""
        return subprocess.run(
            [str(part) for part in command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=_GUARD,
        )

    def _checks(self, blocks: Iterable[Block]) -> Iterator[tuple[int, str]]:
        for block in blocks:
            if block.language not in LANGUAGES:
                yield block.line, f"a block is marked '{block.language}'; it may be {', '.join(sorted(LANGUAGES))}"
            if block.note and block.runs and block.file is None:
                yield block.line, f"the note '{block.note}' means nothing; write 'file=NAME' or 'not run: WHY'"
            if block.language == "json":
                try:
                    json.loads(block.text)
                except ValueError as error:
                    yield block.line, f"this is no JSON: {error}"
            if block.language == "console" and not block.runs:
                for command in commands_in(block):
                    yield from self._options(command)

    def _options(self, command: Command) -> Iterator[tuple[int, str]]:
        words = [word for word in shlex.split(command.text, comments=True) if "=" not in word]
        if words[0] != "trivium":
            return
        of, found = get_command(app), words[:1]
        for word in words[1:]:
            if (below := getattr(of, "commands", {}).get(word)) is None:
                break
            of, found = below, [*found, word]
        options = {name for each in of.params for name in (*each.opts, *each.secondary_opts)} | {"--help"}
        for word in words:
            if word.startswith("--") and word not in options:
                yield command.line, f"`{' '.join(found)}` has no option {word}"

    def _python(self, document: str) -> Iterator[tuple[int, str]]:
        blocks = joined_blocks(document)
        if not blocks:
            return
        source = self.folder / "the document.md"
        source.write_text(document, encoding="utf-8")
        running = started(
            self.folder, Path(__file__).with_name("_run_program.py"), source, environment=self.environment
        )
        shown, _ = running.communicate(timeout=_GUARD)
        if running.returncode != 0:
            yield blocks[0].line, f"the program ended with status {running.returncode}: {shown}"
            return
        for block, (line, printed) in zip(blocks, json.loads(shown.splitlines()[-1]), strict=True):
            if printed != (block.prints or ""):
                yield line, f"prints\n{printed}and is said to print\n{block.prints or 'nothing'}"

    def _console(self, block: Block) -> Iterator[tuple[int, str]]:
        commands = commands_in(block)
        ran = self.run(
            "bash", "-c", "".join(f"{self._offline(each.text)}\nprintf '{_ENDED}%s\\n' $?\n" for each in commands)
        )
        parts = re.split(f"{_ENDED}(\\d+)\n", ran.stdout)
        for command, printed, status in zip(commands, parts[::2], parts[1::2], strict=False):
            if status != "0":
                yield command.line, f"ended with status {status}: {printed}"
            elif command.shown and not _as_pattern(command.shown).fullmatch(printed):
                yield command.line, f"prints\n{printed}and is said to print\n{command.shown}"
        if len(parts) != 2 * len(commands) + 1:
            yield block.line, f"not all commands were run: {ran.stdout}"

    def _offline(self, command: str) -> str:
        command = command.strip().replace(_URL, self.url)
        if command.startswith("make "):
            return f"make --dry-run -C {shlex.quote(str(ROOT))} {command.removeprefix('make ')}"
        command = re.sub(r"--model \S+\.gguf", "", command)
        if "trivium extract" in command and "--model" not in command:
            return command.replace("trivium extract", f"trivium extract --base-url {self.url}")
        return command


def _as_pattern(shown: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in shown.split("…")))
