"""Git repositories: read at a revision from their own store, with nothing of theirs run."""

from __future__ import annotations

import gc
import subprocess
import tempfile
from pathlib import Path

import pytest

from trivium.exceptions import ConfigurationError, UnreadableDocumentError
from trivium.knowledge import Skipped, Source, find_sources
from trivium.knowledge.loading._git import Repository


def git(folder: Path, *arguments: str) -> str:
    ran = subprocess.run(
        ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always",
         "-C", folder, *arguments],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return ran.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of two commits on `main`, the first of which is tagged `v1`."""
    folder = tmp_path / "handbook"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "docs").mkdir()
    (folder / "docs/rent.md").write_text("The rent is 950 EUR.\n")
    (folder / "äö ü.txt").write_text("Umlauts.\n")
    (folder / "photo.png").write_bytes(b"\x89PNG")
    (folder / ".hidden").write_text("x")
    (folder / "link.md").symlink_to("/etc/passwd")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one")
    git(folder, "tag", "v1")
    (folder / "docs/rent.md").write_text("The rent is 980 EUR.\n")
    git(folder, "commit", "-q", "-a", "-m", "two")
    (folder / "docs/rent.md").write_text("Not committed.\n")
    return folder


def texts(sources: list[Source]) -> dict[str, str]:
    return {source.name: "".join(part.content for part in source.documents()) for source in sources}


def test_a_revision_is_read_and_not_the_working_tree(repository: Path) -> None:
    left_out: list[Skipped] = []
    found = texts(list(find_sources(f"git+{repository}", on_skip=left_out.append)))
    name = f"{repository}@HEAD"
    assert found == {f"{name}:docs/rent.md": "The rent is 980 EUR.\n", f"{name}:äö ü.txt": "Umlauts.\n"}
    assert {each.name.removeprefix(f"{name}:"): each.reason for each in left_out} == {
        ".hidden": "it is hidden", "link.md": "it is a link", "photo.png": "its suffix is that of a binary file",
    }  # fmt: skip
    assert texts(list(find_sources(f"git+{repository}@v1", include=["*.md"]))) == {
        f"{repository}@v1:docs/rent.md": "The rent is 950 EUR.\n"
    }


def test_an_unchanged_file_is_known_by_its_state_when_the_branch_moves_on(repository: Path) -> None:
    before = {source.name: source.state() for source in find_sources(f"git+{repository}@main")}
    (repository / "docs/rent.md").write_text("The rent is 990 EUR.\n")
    git(repository, "commit", "-q", "-a", "-m", "three")
    after = {source.name: source.state() for source in find_sources(f"git+{repository}@main")}
    assert before.keys() == after.keys()
    assert {name.rpartition(":")[2] for name in before if before[name] != after[name]} == {"docs/rent.md"}


def test_the_commit_and_the_bytes_are_reported(repository: Path) -> None:
    import hashlib

    (source,) = find_sources(f"git+{repository}", include=["*.md"])
    assert source.fingerprint() == hashlib.sha256(b"The rent is 980 EUR.\n").hexdigest()
    (document,) = source.documents()
    assert document.metadata.model_dump()["commit"] == git(repository, "rev-parse", "HEAD")
    assert document.metadata.source == source.name
    assert document.metadata.media_type == "text/markdown"


@pytest.mark.parametrize("revision", ["", "@v1", "@main"])
def test_a_url_is_fetched_without_its_history_and_goes_when_it_is_no_longer_used(
    repository: Path, revision: str
) -> None:
    bare = repository.with_name("handbook.git")
    git(repository, "clone", "-q", "--bare", ".", str(bare))
    url = bare.as_uri()
    sources = list(find_sources(url + revision))
    rent = "950" if revision == "@v1" else "980"
    assert texts(sources)[f"{url}{revision or '@HEAD'}:docs/rent.md"] == f"The rent is {rent} EUR.\n"
    folder = Path(sources[0]._repository._folder)  # type: ignore[attr-defined]
    assert git(folder, "rev-list", "--count", "FETCH_HEAD") == "1"
    del sources
    gc.collect()
    assert not folder.exists()


def test_nothing_of_the_repository_is_run(repository: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    script = f"touch {ran}"
    for key in (
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "diff.external",
        "filter.x.smudge",
        "diff.x.textconv",
    ):
        git(repository, "config", key, script)
    git(repository, "config", "core.hooksPath", str(tmp_path / "hooks"))
    (tmp_path / "hooks").mkdir()
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        (tmp_path / "hooks" / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "hooks" / name).chmod(0o700)
    (repository / ".git/info/attributes").write_text("*.md filter=x diff=x\n")
    assert len(texts(list(find_sources(f"git+{repository}")))) == 2
    assert len(texts(list(find_sources(f"git+{repository.as_uri()}")))) == 2
    assert not ran.exists()


def test_a_submodule_is_reported_and_not_followed(repository: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "submodule", "--quiet", "add", str(repository), "inner")
    git(outer, "commit", "-q", "-m", "with a submodule")
    left_out: list[Skipped] = []
    assert list(find_sources(f"git+{outer}", on_skip=left_out.append)) == []
    assert {each.name.rpartition(":")[2]: each.reason for each in left_out}["inner"] == "it is a submodule"


@pytest.mark.parametrize(
    ("place", "error", "said"),
    [
        ("git+HERE@--upload-pack=x", ConfigurationError, "give the name of a branch"),
        ("git+HERE@a..b", ConfigurationError, "give the name of a branch"),
        ("git+file://HERE@a:b", ConfigurationError, "give the name of a branch"),
        ("git+ssh://example.org/a.git", ConfigurationError, "https and file URLs"),
        ("git+ext::sh -c x", UnreadableDocumentError, "git cannot read it"),
        ("git+HERE@gone", UnreadableDocumentError, "there is no such revision"),
        ("git+HERE/docs", UnreadableDocumentError, "not a git repository"),
        ("git+HERE-gone", UnreadableDocumentError, "git cannot read it"),
        ("git+file://HERE-gone", UnreadableDocumentError, "git cannot read it"),
        ("git+file://HERE@gone", UnreadableDocumentError, "git cannot read it"),
    ],
)
def test_what_cannot_be_read_is_a_typed_error(repository: Path, place: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        list(find_sources(place.replace("HERE", str(repository))))


def test_a_damaged_object_is_a_typed_error(repository: Path) -> None:
    (source,) = find_sources(f"git+{repository}", include=["*.md"])
    name = source.state().removeprefix("blob ")
    path = repository / ".git/objects" / name[:2] / name[2:]
    path.chmod(0o600)
    path.write_bytes(b"damaged")
    with pytest.raises(UnreadableDocumentError):
        list(source.documents())
    with pytest.raises(UnreadableDocumentError):
        source.fingerprint()


def test_a_login_stands_in_no_name_no_error_and_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[str] = []
    run = subprocess.run

    def noted(command: list[str], **options: object) -> object:
        commands.extend(command)
        return run(["false"], **options) if "fetch" in command else run(command, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "run", noted)
    with pytest.raises(UnreadableDocumentError) as caught:
        Repository("https://ada:s3cret@example.org/a.git")
    assert "https://example.org/a.git" in commands
    assert not any("s3cret" in each or "ada" in each for each in [*commands, str(caught.value), caught.value.source])


def test_reading_may_stop_in_the_middle(repository: Path) -> None:
    (repository / "long.log").write_text("one line of it\n" * 500_000)
    git(repository, "add", "long.log")
    git(repository, "commit", "-q", "-m", "long")
    (source,) = find_sources(f"git+{repository}", include=["*.log"])
    parts = source.documents()
    assert next(parts).content.startswith("one line")
    parts.close()  # type: ignore[attr-defined] - a generator
    assert len(list(source.documents())) == 8


def test_the_folder_for_a_fetch_is_not_left_behind(repository: Path) -> None:
    def folders() -> set[Path]:
        return set(Path(tempfile.gettempdir()).glob("trivium-git-*"))

    before = folders()
    with pytest.raises(UnreadableDocumentError):
        Repository(f"file://{repository}-gone")
    gc.collect()
    assert folders() <= before
