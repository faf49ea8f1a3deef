"""Folders: what is found, what is left out and why; patterns mean what they mean to git."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from trivium.exceptions import ArgumentTypeError, DocumentNotFoundError, EmptyDocumentError, UnreadableDocumentError
from trivium.knowledge import FileSource, Skipped, WebSource, find_sources
from trivium.knowledge.loading._patterns import covers, excludes, parse_patterns
from trivium.parsing import Locator


def make(root: Path, names: Iterable[str]) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"This is {name}.\n")
    return root


def found(folder: Path, **options: list[str]) -> tuple[list[str], dict[str, str]]:
    left_out: list[Skipped] = []
    sources = list(find_sources(folder, on_skip=left_out.append, **options))  # type: ignore[arg-type]
    names = [str(Path(source.name).relative_to(folder)) for source in sources]
    return names, {str(Path(each.name).relative_to(folder)): each.reason for each in left_out}


def test_files_come_by_name_and_what_is_left_out_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(
        tmp_path,
        ["b.md", "a.py", "deep/down/c.txt", "deep/z.csv", ".hidden/x", ".env", "music.MP3", "photo.PNG", "CVS/Root"],
    )
    monkeypatch.setenv("PATH", "")
    os.mkfifo(tmp_path / "pipe")
    names, left_out = found(tmp_path)
    assert names == ["a.py", "b.md", "deep/z.csv", "deep/down/c.txt"]
    assert left_out == {
        ".env": "it is hidden", ".hidden": "it is hidden", "CVS": "it belongs to version control",
        "music.MP3": "its suffix is that of a binary file",
        "photo.PNG": "it is an image, and tesseract is not installed", "pipe": "it is not a regular file",
    }  # fmt: skip


def test_patterns_choose(tmp_path: Path) -> None:
    make(tmp_path, ["a.md", "a.py", "docs/b.md", "docs/old/c.md", "build/d.md"])
    assert found(tmp_path, include=["*.md"], exclude=["build", "/docs/old/"]) == (["a.md", "docs/b.md"], {})
    assert found(tmp_path, include=["docs/"]) == (["docs/b.md", "docs/old/c.md"], {})


def test_what_gitignore_files_exclude_is_left_out(tmp_path: Path) -> None:
    make(tmp_path, ["top/a.log", "top/keep.log", "top/sub/b.log", "top/sub/c.md", "top/tmp/d.md", "e.md"])
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("*.log\ntmp/\n")
    (tmp_path / "top/.gitignore").write_text("!keep.log\n")
    names, left_out = found(tmp_path / "top")
    assert names == ["keep.log", "sub/c.md"]
    assert {name for name, reason in left_out.items() if "gitignore" in reason} == {"a.log", "sub/b.log", "tmp"}


def test_links_that_leave_the_folder_are_not_followed(tmp_path: Path) -> None:
    make(tmp_path, ["in/a.md", "in/sub/b.md", "out/secret.md"])
    inside = tmp_path / "in"
    (inside / "away.md").symlink_to(tmp_path / "out/secret.md")
    (inside / "far").symlink_to(tmp_path / "out")
    (inside / "loop").symlink_to(inside)
    (inside / "near.md").symlink_to("sub/b.md")
    (inside / "nothing.md").symlink_to("gone.md")
    (inside / "itself.md").symlink_to("itself.md")
    names, left_out = found(inside)
    assert names == ["a.md", "near.md", "sub/b.md"]
    assert left_out == {
        "away.md": "it is a link that leaves the folder", "far": "it is a link that leaves the folder",
        "itself.md": "Too many levels of symbolic links", "loop": "it is a link to a folder",
        "nothing.md": "it is not a regular file",
    }  # fmt: skip


def test_one_file_that_cannot_be_read_does_not_stop_the_others(tmp_path: Path) -> None:
    make(tmp_path, ["a.txt", "c.txt"])
    (tmp_path / "b.txt").write_bytes(bytes(range(256)))
    (tmp_path / "d.html").write_bytes(b"<script>1</script>")
    results: list[str] = []
    blamed: list[str] = []
    for source in [*find_sources(tmp_path), *find_sources(tmp_path / "gone.txt")]:
        try:
            results += [document.content for document in source.documents()]
        except (UnreadableDocumentError, EmptyDocumentError, DocumentNotFoundError) as error:
            blamed.append(Path(error.source).name)
            results.append(type(error).__name__)
    assert blamed == ["b.txt", "d.html", "gone.txt"]
    assert results == [
        "This is a.txt.\n", "UnreadableDocumentError", "This is c.txt.\n",
        "EmptyDocumentError", "DocumentNotFoundError",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("place", "advice"),
    [
        ("nowhere/", "there is no such file or folder; check the path"),
        ("~/docs", r"~ is no folder here: give Path\(…\).expanduser\(\)"),
        ("docs/*.txt", r"give the files, or find_sources\(FOLDER, include=\[PATTERN\]\)"),
    ],
)
def test_a_path_where_nothing_is_comes_with_advice(place: str, advice: str) -> None:
    (source,) = find_sources(place)
    with pytest.raises(DocumentNotFoundError, match=advice):
        source.state()


def test_an_empty_path_is_no_place() -> None:
    with pytest.raises(ArgumentTypeError, match="'' is not a place: give a path"):
        list(find_sources(""))
    with pytest.raises(ArgumentTypeError, match="takes a list as include, not str"):  # its letters would be patterns
        find_sources(".", include="*.md")
    for wrong in (FileSource, WebSource):
        with pytest.raises(ArgumentTypeError, match=f"{wrong.__name__} takes text.*, not int"):
            wrong(3)  # type: ignore[arg-type]


def test_a_folder_is_found_as_it_is_asked_for(tmp_path: Path) -> None:
    make(tmp_path, ["a/1.txt", "b/2.txt"])
    sources = find_sources(tmp_path)
    assert next(sources).name.endswith("1.txt")
    make(tmp_path, ["b/3.txt"])
    assert [Path(source.name).name for source in sources] == ["2.txt", "3.txt"]


# --- a file -----------------------------------------------------------------------------------------------------------


def test_the_state_of_a_file_changes_with_it_and_is_reported_without_reading(tmp_path: Path) -> None:
    path = make(tmp_path, ["a.txt"]) / "a.txt"
    source = FileSource(path)
    before, print_before = source.state(), source.fingerprint()
    assert source.state() == before
    path.chmod(0)
    assert source.state() == before
    path.chmod(0o600)
    path.write_text("This is b.txt.\n")  # of the same length
    os.utime(path, ns=(0, 1))
    assert (source.state() != before, source.fingerprint() != print_before) == (True, True)
    path.unlink()
    for use in (source.state, source.fingerprint, lambda: list(source.documents())):
        with pytest.raises(DocumentNotFoundError):
            use()


def test_a_long_file_comes_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one line of it\n" * 150_000)
    parts = list(FileSource(path).documents())
    assert len(parts) == 3
    assert Locator(parts[-1]).place(len(parts[-1].content) - 1).line == 150_000
    assert {part.metadata.source for part in parts} == {str(path)}


# --- patterns ---------------------------------------------------------------------------------------------------------

NAMES = st.text(alphabet="ab-.", min_size=1, max_size=4).filter(lambda name: name not in (".", "..", ".git"))
PATHS = st.lists(NAMES, min_size=1, max_size=4)
PATTERNS = st.text(alphabet="ab-.*?/![]^\\ #", min_size=1, max_size=8).filter(lambda text: "//" not in text)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


@settings(max_examples=50, deadline=None)
@example(lines=["[a-?]"], paths=[["a"], ["b"]])
@given(st.lists(PATTERNS, min_size=1, max_size=4), st.lists(PATHS, min_size=1, max_size=20))
def test_patterns_mean_what_they_mean_to_git(repository: Path, lines: list[str], paths: list[list[str]]) -> None:
    lines = [line for line in lines if not _is_odd(line)]
    (repository / ".gitignore").write_text("\n".join(lines) + "\n")
    asked = "".join("/".join(path) + "\0" for path in paths)
    command = ["git", "-C", repository, "check-ignore", "--no-index", "-z", "--stdin"]
    ran = subprocess.run(command, input=asked, capture_output=True, text=True)
    assert ran.returncode in (0, 1)
    ignored = set(ran.stdout.split("\0"))
    patterns = parse_patterns(lines)
    assert {"/".join(path): covers(patterns, path) for path in paths} == {
        "/".join(path): "/".join(path) in ignored for path in paths
    }


def _is_odd(line: str) -> bool:
    """Sets of letters with a slash in them, of which git has notions of its own, and empty parts."""
    return "[" in line and "/" in line


@pytest.mark.parametrize(
    ("pattern", "path", "is_folder", "expected"),
    [
        ("a/**/b", "a/b", False, True),
        ("a/**/b", "a/x/y/b", False, True),
        ("**/b/c", "x/b/c", False, True),
        ("a/**", "a", True, False),
        ("a/**", "a/x", False, True),
        ("b/", "x/b", False, False),
        ("b/", "x/b", True, True),
        ("[[:digit:]x-z].md", "7.md", False, True),
        ("[!a].md", "a.md", False, False),
        ("a\\ ", "a ", False, True),
        ("\\#a", "#a", False, True),
        ("a\\", "a", False, False),
    ],
)
def test_patterns(pattern: str, path: str, is_folder: bool, expected: bool) -> None:
    assert excludes(parse_patterns([pattern]), path.split("/"), is_folder) is expected


def test_a_pattern_of_many_stars_takes_no_time() -> None:
    pattern = parse_patterns(["*a" * 40 + "b", "**/a/" * 20 + "b"])
    assert not excludes(pattern, ["a"] * 60 + ["a" * 250], False)
