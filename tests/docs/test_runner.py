"""The runner sees what is wrong in a document. Each of these documents was right until something in it was broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from ._blocks import Block, blocks_in
from ._runner import Command, Runner, commands_in

RIGHT = """
Save this as `notes/a.txt`:

```text file=notes/a.txt
hello
```

```python
from pathlib import Path

text = Path("notes/a.txt").read_text()
```

```python
print(text.upper(), end="")
```

```text
HELLO
```

```console
$ cat notes/a.txt
hello
$ cd notes && echo \\
    a b c
a … c
$ ls
a.txt
```

```json
{"a": 1}
```

```console not run: it fetches a model
$ trivium models fetch small
$ TRIVIUM_MODEL=small trivium extract notes --fields "a" --tree  # and more
```

```console
$ make quickstart
```
"""


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """A runner that has no model."""
    return Runner(tmp_path, "http://127.0.0.1:9/v1")


def test_a_right_document(runner: Runner):
    assert runner.problems("a.md", RIGHT) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("HELLO\n", "Hello\n", "a.md:15: prints\nHELLO\nand is said to print\nHello\n"),
        ("text.upper()", "txt.upper()", "NameError: name 'txt' is not defined"),
        ('print(text.upper(), end="")', "print(", "SyntaxError"),
        ('print(text.upper(), end="")', "raise SystemExit(3)", "the program ended with status 3"),
        ('print(text.upper(), end="")', 'print("hello world")', "prints\nhello world\n"),
        ("text = Path", "print(1)\ntext = Path", "and is said to print\nnothing"),
        ("cat notes/a.txt\nhello", "cat notes/a.txt\nbye", "prints\nhello\nand is said to print\nbye"),
        ("cat notes/a.txt", "cat notes/b.txt", "ended with status 1: cat:"),
        ("a … c", "a … d", "and is said to print\na … d"),
        ("$ ls\n", "$ exit 3\n", "not all commands were run"),
        ("$ cat notes/a.txt\nhello", "hello", "ended with status 1"),
        ('{"a": 1}', '{"a": 1,}', "this is no JSON"),
        ("--tree ", "--no-such-option ", "`trivium extract` has no option --no-such-option"),
        ("not run: it", "not-run: it", "the note 'not-run: it fetches a model' means nothing"),
        ("```json", "```jsn", "a block is marked 'jsn'"),
        ("```json", "```text file=notes/a.txt", "notes/a.txt is saved twice"),
        ("make quickstart", "make quickstrat", "No rule to make target 'quickstrat'"),
    ],
)
def test_a_broken_document(runner: Runner, old: str, new: str, problem: str):
    assert RIGHT.count(old) >= 1
    problems = runner.problems("a.md", RIGHT.replace(old, new, 1))
    assert problem in "\n".join(problems)
    assert all(text.startswith("a.md:") for text in problems)


def test_blocks():
    found = blocks_in("a\n```python\nb\n```\n\n```text\nc\n```\nd\n```json file=e\nf\n```\n")
    assert found == [Block("python", "b\n", 3, "", "c\n"), Block("text", "c\n", 7), Block("json", "f\n", 11, "file=e")]
    assert [block.file for block in found] == [None, None, "e"]


def test_commands():
    block = Block("console", "$ a\nb\nc\n$ d \\\n  e\n$ f\n", 5)
    assert commands_in(block) == [Command("a\n", "b\nc\n", 5), Command("d \\\n  e\n", "", 8), Command("f\n", "", 10)]
