"""Pages and files of the web, from a real server through the safe fetcher."""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from trivium.actions.web import Fetcher
from trivium.exceptions import DocumentTooLargeError, FetchAddressError, FetchStatusError, FetchTooLargeError
from trivium.knowledge import Source, WebSource, find_sources
from trivium.parsing import Locator

PAGE = b"<title>Rents</title>\n<p>The rent\nis 950 EUR."
ANSWERS = {
    "/page": ("text/html; charset=utf-8", PAGE),
    "/page.php": ("text/html", b"<p>A page"),
    "/latin.txt": ("text/plain; charset=iso-8859-7", "Αθήνα".encode("iso-8859-7")),
    "/raw/code.py": ("text/plain", b"x = 1\n"),
    "/table": ("text/csv", b"a,b\n1,2\n"),
    "/file.md": ("application/octet-stream", b"# Title"),
    "/packed.json": ("application/json", b'{"a": 1}'),
    "/photo": ("image/png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
    "/long": ("text/plain", b"a" * 5000),
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        kind, data = ANSWERS.get(self.path, ("text/plain", b""))
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        self.send_response(200 if data else 404)
        self.send_header("content-type", kind)
        if self.path == "/packed.json":
            data = gzip.compress(data)
            self.send_header("content-encoding", "gzip")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture(scope="module")
def server() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        made.asked = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def site(server: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{server.server_port}"


def at(url: str, **options: int) -> Source:
    (source,) = find_sources(url, fetcher=Fetcher(allowed_hosts=[url.split("/")[2].rpartition("@")[2]]), **options)  # type: ignore[arg-type]
    return source


def test_a_page_is_read_with_its_title_and_lines_and_asked_for_once(site: str, server: ThreadingHTTPServer) -> None:
    server.asked.clear()  # type: ignore[attr-defined]
    source = at(f"{site}/page#part")
    (document,) = source.documents()
    assert document.content == "The rent is 950 EUR.\n"
    assert document.metadata.title == "Rents"
    assert document.metadata.source == source.name == f"{site}/page"
    assert Locator(document).place(document.content.index("950")).line == 3
    assert source.state() == source.fingerprint() == hashlib.sha256(PAGE).hexdigest()
    assert server.asked == ["/page"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("path", "kind", "text"),
    [
        ("/page.php", "text/html", "A page\n"),
        ("/latin.txt", "text/plain", "Αθήνα"),
        ("/raw/code.py", "text/x-python", "x = 1\n"),
        ("/table", "text/csv", "a | b\na: 1 | b: 2\n"),
        ("/file.md", "text/markdown", "# Title"),
        ("/packed.json", "application/json", '{"a": 1}'),
    ],
)
def test_the_type_that_the_server_says_counts(site: str, path: str, kind: str, text: str) -> None:
    (document,) = at(site + path).documents()
    assert (document.metadata.media_type, document.content) == (kind, text)


def test_what_cannot_be_got_or_read_is_a_typed_error(site: str) -> None:
    with pytest.raises(FetchStatusError):
        at(f"{site}/gone").state()
    with pytest.raises(Exception, match="a PNG image"):
        list(at(f"{site}/photo").documents())
    with pytest.raises(FetchTooLargeError):
        list(WebSource(f"{site}/long", fetcher=Fetcher(allowed_hosts=[site[7:]], max_bytes=100)).documents())
    with pytest.raises(DocumentTooLargeError):
        list(at(f"{site}/long", max_bytes=100).documents())


def test_private_addresses_and_logins_are_refused_and_stand_in_no_name(site: str) -> None:
    (source,) = find_sources(f"{site}/page")
    with pytest.raises(FetchAddressError):
        source.state()
    source = at(site.replace("//", "//ada:s3cret@") + "/page")
    assert source.name == f"{site}/page"
    with pytest.raises(FetchAddressError) as caught:
        list(source.documents())
    assert "s3cret" not in f"{caught.value!r} {caught.value.url} {source!r}"
