"""Small programs as users of the three systems write them, with what they print on the original and here.

    .peers/langroid/bin/python tests/reference/_said.py langroid
    .peers/lagent/bin/python tests/reference/_said.py lagent
    .peers/agere/bin/python tests/reference/_said.py agere

asks an original, and writes what it prints into `said.json`; `differs` and `why` there are written by hand. The
programs of a system stand in `programs/`, behind the lines that all of them begin with. Only the name of the package is
changed.
"""

from __future__ import annotations

import builtins
import contextlib
import contextvars
import io
import json
import logging
import os
import re
import sys
import tempfile
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
TABLE: Final = HERE / "said.json"
SYSTEMS: Final = ("langroid", "lagent", "agere")
VOCABULARY: Final = "lib/python*/site-packages/llama_index/core/_static/tiktoken_cache"


def programs(system: str) -> dict[str, str]:
    """The programs of a system by name, each with the common beginning."""
    text = (HERE / "programs" / f"{system}.txt").read_text(encoding="utf-8")
    beginning, *rest = re.split(r"^#---- (.+)\n", text, flags=re.MULTILINE)
    return {name: beginning + code for name, code in zip(rest[::2], rest[1::2], strict=True)}


def classes_of(error: BaseException) -> list[str]:
    """The names of Python's own classes that an error is an instance of, the lowest first."""
    return [each.__name__ for each in type(error).__mro__ if vars(builtins).get(each.__name__) is each]


def said(system: str, name: str, package: str, expected: str = "") -> list[str]:
    """The lines that a program prints, and the class of Python's own of its error: the expected one if it is one."""
    out, raised = io.StringIO(), list[str]()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run = contextvars.copy_context().run
            run(exec, programs(system)[name].replace(system, package), {"__name__": "program"})
        except Exception as error:
            kinds = classes_of(error)
            raised = [f"raised {expected if expected in kinds else kinds[0]}"]
    return [*(line.rstrip() for line in out.getvalue().splitlines()), *raised]


def rows_of(system: str, before: dict[str, Any]) -> dict[str, Any]:
    """The rows of a system's table, asked of the original anew."""
    return {name: {**before.get(name, {}), "expected": said(system, name, system)} for name in programs(system)}


def main(system: str) -> None:
    """Ask an original, and write what it prints beside what is written there by hand."""
    os.environ["TIKTOKEN_CACHE_DIR"] = str(next(Path(sys.prefix).glob(VOCABULARY), ""))
    os.chdir(tempfile.mkdtemp())
    if system == "langroid":
        import_module("langroid.utils.configuration").settings.quiet = True
    logging.disable(logging.CRITICAL)
    table: dict[str, dict[str, Any]] = json.loads(TABLE.read_text(encoding="utf-8"))
    table[system] = rows_of(system, table[system])
    TABLE.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
