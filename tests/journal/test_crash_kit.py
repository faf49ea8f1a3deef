"""`assert_crash_safe` tells what is wrong with a program that is not safe, and where it was killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = """
import sys
import time
from pathlib import Path

from trivium.journal import Journal, step
from trivium.testing import assert_crash_safe


def clock(journal):
    with journal.run("a"):
        step("look", lambda: 1, effect="read")
        return step("pay", lambda at: 1, time.time(), effect="read")


def outside(journal):
    with journal.run("a"), open("out.txt", "a+") as file:
        file.write("x")
        return len(Path("out.txt").read_text()) + step("look", lambda: 1, effect="read")


def forgotten(journal):
    return 1


def safe(journal):
    with journal.run("a"):
        return step("look", lambda: 1, effect="read")


def sets(journal):
    again = Path("begun").exists()
    Path("begun").touch()
    found = [8, 0] if again else [0, 8]  # the order in which a set of both shows them, too
    return safe(journal), [{"found": {frozenset(found), frozenset({1})}}]


print(assert_crash_safe(globals()[sys.argv[1]]))
"""


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("clock", "killed at place 4, the program failed with DivergedError: run#0/pay#0 does not ask"),
        ("outside", "killed at place 1, it ends with"),
        ("forgotten", "the program wrote nothing into its journal: give its calls run_id= and journal="),
    ],
)
def test_what_is_not_safe_is_told_with_the_place(tmp_path: Path, name: str, said: str):
    done = subprocess.run([sys.executable, "-c", PROGRAMS, name], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"AssertionError: {said}" in done.stderr


@pytest.mark.parametrize("name", ["safe", "sets"])
def test_a_safe_program_was_killed_at_each_place(tmp_path: Path, name: str):
    done = subprocess.run([sys.executable, "-c", PROGRAMS, name], cwd=tmp_path, capture_output=True, text=True)
    assert int(done.stdout) >= 2, done.stderr
