"""Cassettes: what was recorded once comes back as it was, with no network, and what drifted is told."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import itertools
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docs._server import ScriptedServer
from llms._provider_answers import gpt_text, sent
from llms._servers import ChatServer, event_stream
from trivium import Agent
from trivium.actions.web._fetcher import Fetcher
from trivium.actions.web._remote import Remote
from trivium.commander import gather, run_sync
from trivium.distributed import HTTPAgentClient
from trivium.exceptions import (
    CassetteError,
    CassetteMismatchError,
    ConfigurationError,
    ModelError,
    ProviderConnectionError,
    ProviderStatusError,
)
from trivium.llms import OpenAIModel
from trivium.testing import Cassette, FaultyTransport, Reset, Status, cassette
from trivium.testing._interactions import pieces_of, stored_body
from trivium.testing._records import layout

from ._asking import HI, KEY, ask, echoed, recorded, whole
from ._echo import Asked, Given, Server


# ---- once, then offline
def test_what_is_recorded_once_is_replayed_with_no_network_and_no_key(file: Path, offline: Callable[[], None]):
    url = recorded(file)
    before = file.read_bytes()
    offline()
    with cassette(file) as tape:
        assert ask(url, key=None) == "you said hi"
    assert (tape.is_new, tape.recorded, tape.replayed) == (False, 0, 1)
    assert file.read_bytes() == before


def no_token() -> str:
    raise PermissionError("log in first")


def test_a_public_model_needs_no_key_in_a_replay(file: Path):
    stored = {"method": "POST", "url": "https://api.openai.com/v1/chat/completions"}
    answer = {"status": 200, "json": {"choices": [{"message": {"content": "hello"}}]}}
    file.parent.mkdir()
    interactions = [{"request": stored, "response": answer}]
    file.write_text(json.dumps({"trivium_cassette": 1, "interactions": interactions}))
    with cassette(file, match=lambda request: request.url):
        assert OpenAIModel("gpt-4o-mini").chat("hi") == "hello"
    with cassette(file, match=lambda request: request.url):
        assert OpenAIModel("gpt-4o-mini", api_key=no_token).chat("hi") == "hello"
    with pytest.raises(PermissionError, match="log in first"):
        OpenAIModel("gpt-4o-mini", api_key=no_token).chat("hi")
    with pytest.raises(ConfigurationError, match="needs an API key"):
        OpenAIModel("gpt-4o-mini").chat("hi")
    other = cassette(file.with_name("other.json"), record="all", allow_unused=True)
    with other, pytest.raises(ConfigurationError, match="API key"):
        OpenAIModel("gpt-4o-mini").chat("hi")


def test_a_whole_agent_replays_sync_async_streamed_and_in_parallel(file: Path):
    def run(url: str) -> list[str]:
        agent = Agent(OpenAIModel("m", base_url=url))

        async def several() -> list[str]:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(OpenAIModel("m", base_url=url).chat_async(f"task {n}")) for n in range(4)]
            return [task.result() for task in tasks]

        model = OpenAIModel("m", base_url=url)
        lists = [[{"role": "user", "content": f"list {n}"}] for n in range(4)]
        *_, (_, streamed, _) = model.stream_chat("streamed")
        in_thread: list[str] = []
        thread = threading.Thread(target=copy_context().run, args=(lambda: in_thread.append(ask(url, "thread")),))
        thread.start()
        thread.join()
        gathered: list[str] = asyncio.run(_gathered(url))
        return [agent("hello").content, *asyncio.run(several()), *model.chat(lists), streamed, *in_thread, *gathered]

    with ScriptedServer(echoed) as server, cassette(file):
        first = run(server.url)
    with cassette(file) as tape:
        assert run(server.url) == first
    assert tape.replayed == len(first) == 14
    assert "you said list 3" in first


def test_a_call_that_the_server_gave_no_id_replays_too(file: Path):
    call = {"index": 0, "function": {"name": "double", "arguments": '{"n": 2}'}}
    chunk = {"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}

    def double(n: int) -> int:
        return 2 * n

    with ChatServer() as chat:
        chat.scripts = [event_stream(sent(chunk)), event_stream(sent(chunk)), gpt_text("done")]
        for _ in range(2):
            with cassette(file):
                assert Agent(OpenAIModel("m", base_url=chat.url), tools=[double])("go").content == "done"
    ids = [call["id"] for each in chat.received[2].body["messages"] for call in each.get("tool_calls") or ()]
    assert len(set(ids)) == 2


async def _gathered(url: str) -> list[str]:
    return await gather(*[lambda n=n: OpenAIModel("m", base_url=url).chat_async(f"gathered {n}") for n in range(3)])


def test_equal_requests_are_answered_in_order_and_others_by_content(file: Path):
    answers = iter(["one", "two", "other", "three"])
    with ScriptedServer(lambda _: next(answers)) as server, cassette(file):
        assert [ask(server.url, text) for text in ("a", "a", "b", "a")] == ["one", "two", "other", "three"]
    with cassette(file):
        assert [ask(server.url, text) for text in ("b", "a", "a", "a")] == ["other", "one", "two", "three"]


@pytest.mark.parametrize("form", ["served", "service", "page"])
def test_the_other_clients_take_part(file: Path, form: str, offline: Callable[[], None]):
    def answer(asked: Asked) -> Given:
        return Given(json.dumps({"0": []}).encode(), headers={"content-type": "application/json"})

    def run(server: Server) -> Any:
        if form == "served":
            return HTTPAgentClient(server.url, token=KEY).state_dict("ada")
        if form == "service":
            remote = Remote("Example", server.url, timeout=5, hidden={"key": KEY})
            return run_sync(remote.request, json.loads, "/find", params={"q": "rain"})
        return json.loads(Fetcher(allowed_hosts=[server.host]).fetch(f"{server.url}/page").text)

    with Server(answer) as server, cassette(file):
        assert run(server) == {"0": []}
    assert len(server.asked) == 1
    offline()
    with cassette(file):
        assert run(server) == {"0": []}
    assert KEY not in file.read_text()


# ---- what stands in the file
def test_the_file_is_read_like_a_text_and_is_the_same_at_each_recording(file: Path):
    with ScriptedServer(echoed) as server:
        texts = set[str]()
        for _ in range(2):
            with cassette(file, record="all"):
                ask(server.url, "hi")
            texts.add(file.read_text())
    (text,) = texts
    assert '{"data": {"choices": [{"index": 0, "delta": {"content": "said "}}]}},\n' in text
    assert '"messages": [{"role": "user", "content": "hi"}],\n' in text
    assert [path.name for path in file.parent.iterdir()] == ["talk.json"]


@pytest.mark.parametrize(
    ("body", "kind", "form"),
    [
        (b'{"a": [1.5, null, "\xc3\xa9"]}', "application/json", {"json": {"a": [1.5, None, "é"]}}),
        (b'{"a": 1, "a": 2}', "application/json", {"text": ['{"a": 1, "a": 2}']}),
        (b"<p>one\r\ntwo", "text/html", {"text": ["<p>one\r\n", "two"]}),
        (b"\x00\xff", "image/png", {"base64": base64.b64encode(b"\x00\xff").decode()}),
        (b"", "text/plain", {}),
        (b'event: x\ndata: {"a":1}\n\n', "text/event-stream", {"events": [{"event": "x", "data": {"a": 1}}]}),
        (b"data: {}\r\n\r\n: c\n\ndata", "text/event-stream", {"events": ["data: {}\r\n\r\n", ": c\n\n", "data"]}),
        (b'{"a": "\\ud800"}', "application/json", {"json": {"a": "\ud800"}}),
        (b"[" * 99_999, "application/json", {"text": ["[" * 99_999]}),
        (b"[" * 300 + b"]" * 300, "application/json", {"text": ["[" * 300 + "]" * 300]}),
    ],
)
def test_a_body_is_kept_in_the_form_that_is_best_to_read_and_comes_back(body: bytes, kind: str, form: dict[str, Any]):
    assert stored_body(body, kind) == form
    text = layout({"body": form})
    back = b"".join(pieces_of(json.loads(text.encode())["body"]))
    assert (
        back == body or json.loads(back) == json.loads(body) or back.replace(b": ", b":") == body.replace(b": ", b":")
    )


def test_a_packed_answer_is_kept_unpacked(file: Path):
    body = gzip.compress(b'{"choices": [{"message": {"content": "hello"}}]}')
    answer = Given(body, headers={"content-encoding": "gzip", "content-type": "application/json"})
    with Server(lambda _: answer) as server, cassette(file):
        assert ask(server.url) == "hello"
    assert '"content": "hello"' in file.read_text()
    with cassette(file):
        assert ask(server.url) == "hello"


def test_an_error_status_and_a_broken_connection_come_back_as_they_were(file: Path):
    answers = [Given(b'{"error": {"message": "no"}}', 400), Given(b'{"choices', headers={"content-length": "99"})]

    def run(url: str) -> list[str]:
        found: list[str] = []
        for _ in range(2):
            with pytest.raises(ModelError) as caught:
                whole(url)
            found.append(f"{type(caught.value).__name__} {caught.value}")
        return found

    with Server(lambda _: answers[min(len(server.asked), 2) - 1]) as server, cassette(file):
        first = run(server.url)
    assert [each.split()[0] for each in first] == ["ProviderStatusError", "ProviderConnectionError"]
    with cassette(file):
        assert run(server.url) == first


pieces_of_text = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8), min_size=1)


cuts_of_bytes = st.lists(st.integers(1, 40), min_size=1)


def test_what_is_recorded_replays_the_same_deltas_however_it_was_cut(file: Path):
    with ChatServer() as chat:

        @given(pieces_of_text, cuts_of_bytes, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
        @settings(max_examples=25)
        def check(texts: list[str], cuts: list[int], end: str, escaped: bool) -> None:
            chunks = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in texts]
            lines = "".join(f"data: {json.dumps(chunk, ensure_ascii=escaped)}{end * 2}" for chunk in chunks)
            chat.scripts = [event_stream(*cut((lines + f"data: [DONE]{end * 2}").encode(), cuts))]
            with cassette(file, record="all"):
                first = whole(chat.url)
            with cassette(file, record="none"):
                assert whole(chat.url) == first
            assert "".join(each for each in first if isinstance(each, str)) == "".join(texts)

        check()


def cut(body: bytes, sizes: list[int]) -> list[bytes]:
    pieces, start = list[bytes](), 0
    for size in itertools.cycle(sizes):
        pieces.append(body[start : start + size])
        start += size
        if start >= len(body):
            break
    return pieces


# ---- when it is recorded
def test_the_four_ways_to_record(file: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(CassetteError, match="there is no recording"), cassette(file, record="none"):
        raise AssertionError("the block is not entered")
    with ScriptedServer(echoed) as server:
        with cassette(file, record="new"):
            ask(server.url, "a")
        with cassette(file, record="new") as tape:
            _ = ask(server.url, "a"), ask(server.url, "b")
        assert (tape.recorded, tape.replayed, len(server.asked)) == (1, 1, 2)
        with cassette(file, record="none"):
            _ = ask(server.url, "b"), ask(server.url, "a")
        with cassette(file, record="all") as tape:
            ask(server.url, "c")
        assert tape.is_new
        assert len(server.asked) == 3
    monkeypatch.setenv("TRIVIUM_RECORD", "none")
    with cassette(file):
        ask(server.url, "c")
    with pytest.raises(CassetteError, match="there is no recording"), cassette(file.with_name("other.json")):
        raise AssertionError("the block is not entered")
    monkeypatch.setenv("TRIVIUM_RECORD", "sometimes")
    with pytest.raises(ConfigurationError, match="once, none, all, new"):
        Cassette(file)


def test_a_block_whose_requests_come_from_threads_outside_the_context_is_an_error(file: Path):
    def asked_by_a_thread(**options: Any) -> None:
        with cassette(file, **options), ThreadPoolExecutor() as pool:
            assert pool.submit(ask, server.url).result() == "you said hi"

    with ScriptedServer(echoed) as server:
        with pytest.raises(CassetteMismatchError, match=r"no request was made.*copy_context\(\).run.*allow_unused"):
            asked_by_a_thread()
        assert not file.exists()
        asked_by_a_thread(allow_unused=True)
        with pytest.raises(CassetteMismatchError, match="no request was made"):
            asked_by_a_thread(record="none")
        with cassette(file, record="all"):
            ask(server.url)
        with pytest.raises(
            CassetteMismatchError, match=r"1 of 1 recorded requests were not made.*copy_context\(\).run"
        ):
            asked_by_a_thread(record="none")


def test_a_recording_that_failed_is_not_written(file: Path):
    with ScriptedServer(echoed) as server:
        with pytest.raises(ValueError, match="you said hi"), cassette(file):
            int(ask(server.url))
        assert not file.exists()
        with cassette(file):
            ask(server.url)
        before = file.read_bytes()
        with pytest.raises(ValueError, match="you said other"), cassette(file, record="all"):
            int(ask(server.url, "other"))
    assert file.read_bytes() == before


def test_a_request_that_is_under_way_at_the_end_is_an_error(file: Path):
    async def run(url: str) -> None:
        with cassette(file):
            stream = OpenAIModel("m", base_url=url).stream(HI)
            await anext(stream)
        await stream.aclose()

    with ScriptedServer(echoed) as server, pytest.raises(CassetteError, match="under way"):
        asyncio.run(run(server.url))
    assert not file.exists()


def test_an_answer_that_was_left_early_replays_to_there_and_no_further(file: Path):
    async def run(url: str, deltas: int) -> list[Any]:
        stream = OpenAIModel("m", base_url=url).stream(HI)
        async with contextlib.aclosing(stream):
            return [await anext(stream) for _ in range(deltas)]

    with ChatServer() as chat:
        chat.scripts = [event_stream(sent({"choices": [{"delta": {"content": "you "}}]}))]
        chat.scripts[0] = [*chat.scripts[0], sent({"choices": [{"delta": {"content": "said"}}]})]
        url = chat.url
        with cassette(file):
            first = asyncio.run(run(url, 1))
    assert '"is_cut": true' in file.read_text()
    with cassette(file):
        assert asyncio.run(run(url, 1)) == first == ["you "]
    with pytest.raises(CassetteMismatchError, match="left early"), cassette(file):
        asyncio.run(run(url, 9))


def test_a_request_after_the_end_is_an_error_and_no_traffic(file: Path):
    with ScriptedServer(echoed) as server:
        with cassette(file):
            context = copy_context()
            ask(server.url)
        with pytest.raises(CassetteMismatchError, match="after the block"):
            context.run(ask, server.url)
        assert len(server.asked) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"trivium_cassette": 9, "interactions": []}',
        '{"trivium_records": 1, "records": [{"name": "model", "kind": "outcome", "digest": "", "body": 1}]}',
        '{"trivium_records": 1}',
        '{"trivium_cassette": 1, "interactions": [1]}',
        '{"trivium_cassette": 1, "interactions": [{"request": {"method": "", "url": ""}, "response": {"status": 7}}]}',
    ],
)
def test_a_file_that_is_no_cassette_is_named(file: Path, text: str):
    file.parent.mkdir()
    file.write_text(text)
    with pytest.raises(CassetteError, match="is no cassette that can be read"), cassette(file):
        raise AssertionError("the block is not entered")
    assert file.read_text() == text


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    cannot_write = pytest.raises(CassetteError, match="cannot write")
    with ScriptedServer(echoed) as server, cannot_write, cassette(tmp_path / "file" / "tape.json", record="all"):
        ask(server.url)


# ---- with faults, and among processes
def test_faults_around_a_cassette_are_recorded_and_within_it_are_not(file: Path):
    with ScriptedServer(echoed) as server:
        with FaultyTransport([Status(400, "no")]), cassette(file), pytest.raises(ProviderStatusError):
            ask(server.url)
        assert not server.asked
        with cassette(file), pytest.raises(ProviderStatusError):
            ask(server.url)
        broken = pytest.raises(ProviderConnectionError)
        with cassette(file, record="all"), FaultyTransport([Reset(after=150)]), broken:
            whole(server.url)
        assert "is_cut" in file.read_text()


RECORDING = """
import sys
from trivium.llms import OpenAIModel
from trivium.testing import cassette

path, url, text = sys.argv[1:]
with cassette(path, record="all"):
    for n in range(5):
        OpenAIModel("m", base_url=url).chat(f"{text} {n}")
"""


def test_processes_that_record_one_file_leave_a_whole_one(file: Path):
    with ScriptedServer(echoed) as server:
        command = [sys.executable, "-c", RECORDING, file, server.url]
        processes = [subprocess.Popen([*command, text]) for text in ("a", "b")]
        assert [process.wait(30) for process in processes] == [0, 0]
    last = json.loads(file.read_text())["records"][0]["asked"]["json"]["messages"][0]["content"][0]
    with cassette(file):
        for n in range(5):
            assert ask(server.url, f"{last} {n}") == f"you said {last} {n}"
    assert [path.name for path in file.parent.iterdir()] == ["talk.json"]


def test_cassettes_of_threads_do_not_see_each_other(file: Path):
    both, names = threading.Barrier(2), ("a", "b")

    def talk(name: str) -> str:
        with cassette(file.with_name(name)):
            both.wait(10)
            return ask(server.url, name)

    with ScriptedServer(echoed) as server:
        for _ in range(2):
            with ThreadPoolExecutor(2) as pool:
                assert list(pool.map(talk, names)) == ["you said a", "you said b"]
        assert len(server.asked) == 2
