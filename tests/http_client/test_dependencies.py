"""The core needs its own dependencies and no others: a call of a model, a page and a download without the rest."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

allowed = set({allowed!r})
canonical = lambda name: name.lower().replace("_", "-").replace(".", "-")
others = {{top for top, names in packages_distributions().items() if allowed.isdisjoint(map(canonical, names))}}

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in others - {{"trivium", "sitecustomize"}}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
for name in others & set(sys.modules):
    del sys.modules[name]
from trivium.actions.web import Fetcher
from trivium.llms import OpenAIModel
from trivium.llms.local._download import download, http_client

url, port, folder = sys.argv[1:]
print(OpenAIModel("m", base_url=url, api_key="k").chat("hi"))
print(Fetcher(allowed_hosts=[f"127.0.0.1:{{port}}"]).fetch(url).text)
download(http_client(), url, Path(folder) / "file", None, lambda done, whole: None)
try:
    import httpx2
except ModuleNotFoundError:
    print("no httpx2")
"""


def core() -> set[str]:
    """The distributions that the core needs, with those that they need."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    found, left = set[str](), list[str](tomllib.loads(text)["project"]["dependencies"])
    while left:
        asked = left.pop()
        name = re.split(r"[^A-Za-z0-9_.-]", asked)[0].lower().replace("_", "-")
        if not re.search("extra ==|sys_platform == '(darwin|win32)'", asked) and name not in found:
            found.add(name)
            left += requires(name) or []
    return found


def test_models_pages_and_downloads_need_only_the_core(tmp_path: Path) -> None:
    from http.server import BaseHTTPRequestHandler

    from _http_server import LoopbackServer

    class Server(LoopbackServer):
        def respond(self, handler: BaseHTTPRequestHandler) -> None:
            handler.rfile.read(int(handler.headers.get("content-length", "0")))
            body = b'{"choices": [{"message": {"role": "assistant", "content": "hot"}, "finish_reason": "stop"}]}'
            handler.send_response(200)
            handler.send_header("content-type", "application/json")
            handler.send_header("content-length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)

    needed = core()
    assert "httptools" in needed
    assert "httpx2" not in needed
    with Server() as server:
        port = server.host.rpartition(":")[2]
        command = [sys.executable, "-c", PROGRAM.format(allowed=sorted(needed)), server.url, port, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "hot" in done.stdout
    assert done.stdout.endswith("no httpx2\n")
    assert b"hot" in (tmp_path / "file").read_bytes()


def test_without_the_parser_an_error_tells_what_to_install() -> None:
    program = "import sys; sys.modules['httptools'] = None\nimport trivium\ntrivium.Agent\nimport trivium.http"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert "MissingExtraError: httptools, which parses HTTP, cannot be loaded" in done.stderr
    assert "pip install httptools" in done.stderr
