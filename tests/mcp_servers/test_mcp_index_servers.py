"""Servers from the package index that nobody here wrote; they speak an older form of the protocol."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from trivium import Agent
from trivium.exceptions import MCPProtocolError
from trivium.mcp import MCPServer
from trivium.testing import ScriptedModel, call_tool

from ._helpers import PEERS


@contextmanager
def peer(program_name: str, /, *arguments: str, **options: Any) -> Generator[MCPServer]:
    program = PEERS / program_name
    if not program.exists():
        pytest.fail(f"{program_name} is not here: make .peers/mcp-servers/.ready")
    with MCPServer([str(program), *arguments], **options) as server:
        yield server


def test_the_time_server_converts():
    with peer("mcp-server-time", name="clock") as clock:
        wanted = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        script = [call_tool("clock.convert_time", **wanted), "Nine in the evening."]
        model = ScriptedModel(script)
        assert Agent(model, tools=[clock])("Noon UTC in Tokyo?").content == "Nine in the evening."
        assert "T21:00:00+09:00" in json.dumps(model.requests[-1].messages)
        assert "Invalid timezone" in str(clock({"timezone": "Mars/Olympus"}, "get_current_time").errmsg)
        assert clock.resources() == []
        assert clock.prompts() == []


def test_the_sqlite_server_keeps_a_table(tmp_path: Path):
    path = str(tmp_path / "shop.db")
    with peer("mcp-server-sqlite", "--db-path", path, name="shop", resources=True, prompts=True) as shop:
        shop({"query": "CREATE TABLE teas (name TEXT)"}, "create_table")
        shop({"query": "INSERT INTO teas VALUES ('寸 Sencha')"}, "write_query")
        assert "寸 Sencha" in shop({"query": "SELECT name FROM teas"}, "read_query").format_result()
        assert shop({"query": "DROP TABLE teas"}, "read_query").format_result().startswith("Error")
        assert [each.uri for each in shop.resources()] == ["memo://insights"]
        assert "insights" in str(shop.read_resource("memo://insights")[0])
        (prompt,) = shop.prompts()
        assert prompt.required == ("topic",)
        assert "tea shops" in shop.get_prompt(prompt.name, topic="tea shops")[0].content
        with pytest.raises(MCPProtocolError):
            shop.get_prompt("nothing")


def test_the_git_server_reads_a_repository(tmp_path: Path):
    (tmp_path / "note").write_text("tea")
    for command in (["init", "-q", "-b", "trunk"], ["add", "note"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    with peer("mcp-server-git", "--repository", str(tmp_path), env={"HOME": str(tmp_path)}) as git:
        status = git({"repo_path": str(tmp_path)}, "git_status").format_result()
        assert "new file:   note" in status
        assert "trunk" in status
        assert git({"repo_path": "/"}, "git_status").errmsg
