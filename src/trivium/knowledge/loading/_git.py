"""The files of a git repository at a revision, read from its object store: nothing is checked out."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import weakref
from base64 import b64encode
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, cast
from urllib.parse import unquote, urlsplit, urlunsplit

from trivium.exceptions import ConfigurationError, DocumentError, UnreadableDocumentError
from trivium.knowledge.loading._source import Source
from trivium.parsing import ReadLimits, read_parts
from trivium.parsing.lowlevel import MAX_BYTES, escape_unprintable
from trivium.schema import Document

_SECONDS = 900.0  # for a clone
_NULL = os.devnull
_REVISION = re.compile(r"[\w@][\w./@{}^~+-]*")
_REMOTE_REVISION = re.compile(r"\w[\w./+-]*")
_OPTIONS = (
    "-c", "protocol.allow=never", "-c", "protocol.file.allow=always", "-c", "protocol.https.allow=always",
    "-c", f"core.hooksPath={_NULL}", "-c", "core.fsmonitor=false", "-c", "credential.helper=",
    "-c", "submodule.recurse=false", "-c", "fetch.recurseSubmodules=false", "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
)  # fmt: skip


class Blob(NamedTuple):
    """A file in a tree: its path, its mode (`100644` and the like), and the id of its content."""

    path: str
    mode: str
    id: str


def repository_name(place: str, revision: str) -> str:
    """Return the name of a repository at a revision: its place without user and password, and the revision.

    >>> repository_name("https://ada:secret@example.org/a.git", "main")
    'https://example.org/a.git@main'
    """
    url = urlsplit(place)
    if "://" in place:
        place = urlunsplit(url._replace(netloc=url.netloc.rpartition("@")[2]))
    return f"{place}@{revision}"


class Repository:
    """A git repository at one revision.

    Git runs without the settings of the user and of the system, without hooks, submodules and prompts. Of a remote
    repository only that revision is fetched, without its history, into a temporary folder of this object.

    Args:
        place: a local path, or an `https` or `file` URL. A user and a password in it are used, but are in no name.
        revision: a branch, a tag or a commit.

    Raises:
        ConfigurationError: the revision is not valid, or the URL has another scheme.
        UnreadableDocumentError: git is not installed, there is no such repository or revision, or it cannot be fetched.
    """

    def __init__(self, place: str, revision: str = "HEAD") -> None:
        self._environment = _environment()
        url = urlsplit(place)
        is_remote = "://" in place
        self.name = repository_name(place, revision)
        if is_remote and url.scheme not in {"https", "file"}:
            raise ConfigurationError(
                f"{escape_unprintable(self.name)}: git repositories are read from https and file URLs, and paths"
            )
        if not (_REMOTE_REVISION if is_remote else _REVISION).fullmatch(revision) or ".." in revision:
            raise ConfigurationError(
                f"{escape_unprintable(self.name)}: give the name of a branch or a tag, or a commit"
            )
        if is_remote:
            self._folder = self.fetch(place, revision)
            revision = "FETCH_HEAD"
        else:
            self._folder = os.path.abspath(place)
        # A repository in a folder above must not be used.
        self._environment["GIT_CEILING_DIRECTORIES"] = str(Path(self._folder).parent)
        self.commit = self._ask("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").decode().strip()

    def blobs(self) -> Iterator[Blob]:
        """Iterate over the files of the tree, by path."""
        for entry in self._ask("ls-tree", "-r", "-z", "--full-tree", self.commit).split(b"\0")[:-1]:
            about, _, path = entry.partition(b"\t")
            mode, _, object_id = about.decode().split()
            yield Blob(path.decode("utf-8", "replace"), mode, object_id)

    @contextmanager
    def open(self, blob: str) -> Generator[IO[bytes]]:
        """Provide the content of a file, to be read once.

        Raises:
            UnreadableDocumentError: its object is missing or damaged; this is known after all of it is read.
        """
        command = self._command("-C", self._folder, "cat-file", "blob", blob)
        with tempfile.TemporaryFile() as errors, _started(command, self._environment, errors) as process:
            content = cast("IO[bytes]", process.stdout)
            problem: DocumentError | None = None
            try:
                yield content
            except DocumentError as error:  # for example an empty document, if git failed
                problem = error
            if not content.read(1) and process.wait() != 0:
                errors.seek(0)
                raise self._failed(errors.read())
            if problem is not None:
                raise problem

    def fetch(self, url: str, revision: str) -> str:
        """Fetch one revision of a remote repository into a temporary folder, and return its path."""
        folder = tempfile.mkdtemp(prefix="trivium-git-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._folder = folder
        self._ask("init", "--quiet", "--bare", "--template=")
        parts = urlsplit(url)
        login, _, host = parts.netloc.rpartition("@")
        if login:  # in the environment, because other users can see command lines
            token = b64encode(":".join(unquote(each) for each in f"{login}:".split(":")[:2]).encode()).decode()
            self._environment |= {"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "http.extraHeader"}
            self._environment |= {"GIT_CONFIG_VALUE_0": f"Authorization: Basic {token}"}
            self._environment |= {"GIT_CONFIG_KEY_1": "http.followRedirects", "GIT_CONFIG_VALUE_1": "false"}
        address = urlunsplit(parts._replace(netloc=host))
        self._ask("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", address, revision)
        return folder

    def _ask(self, *arguments: str) -> bytes:
        try:
            ended = subprocess.run(  # noqa: S603 - no shell; arguments of the user are checked, or come after `--`
                self._command("-C", self._folder, *arguments),
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise self._failed(str(error).encode()) from None
        if ended.returncode != 0:
            raise self._failed(ended.stderr)
        return ended.stdout

    def _command(self, *arguments: str) -> list[str]:
        git = shutil.which("git")
        if git is None:
            text = f"{escape_unprintable(self.name)}: git is not installed; install it, or give a folder"
            raise UnreadableDocumentError(text, self.name)
        return [git, *_OPTIONS, *arguments]

    def _failed(self, said: bytes) -> UnreadableDocumentError:
        lines = said.decode("utf-8", "replace").strip().splitlines() or ["there is no such revision"]
        reason = escape_unprintable(lines[0])[:300]
        text = f"{escape_unprintable(self.name)}: git cannot read it ({reason}); check the place and the revision"
        return UnreadableDocumentError(text, self.name)


class GitSource(Source):
    """A file of a git repository at a revision.

    Its name is `repository@revision:path` with the requested revision, so that it stays the same when a branch moves;
    `metadata.commit` is the commit that was read. Its state is the id of its content.

    Args:
        repository: the repository.
        blob: the file.
        max_bytes: maximum size of a file whose format is not read in parts; see `read_parts`.
        encoding: that of a text without a byte order mark; see `read`.
        limits: what reading it may take; default `ReadLimits()`.
    """

    def __init__(
        self,
        repository: Repository,
        blob: Blob,
        *,
        max_bytes: int = MAX_BYTES,
        limits: ReadLimits | None = None,
        encoding: str = "",
    ) -> None:
        super().__init__(f"{repository.name}:{blob.path}")
        self._repository, self._blob, self._max_bytes, self._limits = repository, blob, max_bytes, limits
        self._encoding = encoding

    def state(self) -> str:
        """Return the id of its content, which git knows without reading it."""
        return f"blob {self._blob.id}"

    def fingerprint(self) -> str:
        """Return the SHA-256 of its bytes in hexadecimal."""
        with self._repository.open(self._blob.id) as file:
            digest = hashlib.sha256()
            while piece := file.read(1 << 20):
                digest.update(piece)
        return digest.hexdigest()

    def documents(self) -> Iterator[Document]:
        """Read its text, in parts if it is long."""
        with self._repository.open(self._blob.id) as file:
            limits, encoding = self._limits, self._encoding
            for document in read_parts(file, self.name, max_bytes=self._max_bytes, limits=limits, encoding=encoding):
                more = {"commit": self._repository.commit}
                document.metadata = document.metadata.model_copy(update=more)
                yield document


@contextmanager
def _started(
    command: Sequence[str], environment: dict[str, str], errors: IO[bytes]
) -> Generator[subprocess.Popen[bytes]]:
    """Start a process, and end it with the block."""
    process = subprocess.Popen(  # noqa: S603 - no shell; the id of an object is all that varies
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
    )
    try:
        yield process
    finally:
        process.kill()
        assert process.stdout is not None
        process.stdout.close()
        process.wait()


def _environment() -> dict[str, str]:
    """Return the environment of git, which replaces that of this process and its user."""
    return {
        "PATH": os.defpath,
        "HOME": _NULL,
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": _NULL,
        "GIT_CONFIG_GLOBAL": _NULL,
        "GIT_ASKPASS": "true",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_HTTP_LOW_SPEED_LIMIT": "1000",
        "GIT_HTTP_LOW_SPEED_TIME": "60",
    }
