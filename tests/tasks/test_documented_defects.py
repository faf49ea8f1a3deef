"""What was weak in the original, and what has two names or forms: each shown to be otherwise here."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium import ChatAgent, ChatAgentConfig, ChatDocument, Entity, StatusCode, Task, TaskConfig, ToolMessage
from trivium.exceptions import InfiniteLoopException
from trivium.llms import Request
from trivium.schema import LLMMessage, ObjectRegistry, Role
from trivium.testing import ScriptedModel
from trivium.utils.constants import NO_ANSWER, PASS, PASS_TO, SEND_TO

from ._documented import Saying, content, document, saying, scripted


def python(program: str, **environment: str) -> str:
    """What a program prints that runs in an interpreter of its own."""
    paths = [path for path in sys.path if path]
    found = subprocess.run(
        [sys.executable, "-B", "-c", f"import sys; sys.path[:0] = {paths!r}\n{program}"],
        env={"PATH": "/usr/bin:/bin", **environment}, capture_output=True, text=True, timeout=50, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


# ---- 1, 2, 6: what an import does
HEAVY = ("openai", "torch", "numpy", "pandas", "litellm", "tiktoken", "rich", "redis", "dotenv", "pydantic_settings")


@pytest.mark.shows("weak point 1")
def test_an_import_asks_no_network_and_loads_nothing_heavy():
    program = f"""
import socket, sys
def refuse(*args, **kwargs): raise OSError("no network here")
socket.socket.connect = socket.getaddrinfo = refuse
import trivium as lr
from trivium import ChatAgent, ChatAgentConfig, Task, TaskConfig, ToolMessage
from trivium.testing import ScriptedModel
task = Task(ChatAgent(ChatAgentConfig(llm=ScriptedModel(["DONE 42"]))), interactive=False)
print(task.run("go").content, sorted(set({HEAVY!r}) & sys.modules.keys()))
"""
    assert python(program) == "42 []"


@pytest.mark.shows("weak point 2", "AgentConfig.name", "utils.configuration.settings")
def test_no_variable_without_a_prefix_of_ours_is_read(tmp_path: Path):
    program = """
import trivium as lr
from trivium.utils.configuration import settings
print(lr.AgentConfig().name, settings.debug, settings.cache, lr.ChatAgentConfig().system_message)
"""
    (tmp_path / ".env").write_text("DEBUG=app\nNAME=file\n", encoding="utf-8")
    named = {"DEBUG": "app", "CACHE": "/x", "NAME": "My Laptop", "TYPE": "foo", "TIMEOUT": "abc", "STREAM": "no"}
    assert python(program, **named, PWD=str(tmp_path)) == "LLM-Agent False True You are a helpful assistant."


@pytest.mark.shows("weak point 6")
def test_tasks_know_no_provider_no_store_and_no_reader_of_documents():
    program = """
import sys
import trivium.agents, trivium.tasks
print([name for name in sys.modules if name.startswith(("trivium.knowledge", "trivium.extraction", "trivium.cli",
       "trivium.parsing.", "trivium.distributed",
       "trivium.llms._openai", "trivium.llms.local._local", "trivium.actions.web"))])
"""
    assert python(program) == "[]"


# ---- 4: what the process shares
@pytest.mark.shows("weak point 4", "ObjectRegistry", "semantic 10")
def test_runs_leave_no_messages_behind():
    task = Task(scripted("hello", "DONE 42"), interactive=False)
    task.run("go")
    gc.collect()
    before = len(ObjectRegistry.registry)
    for _ in range(20):
        task.run("go")
    gc.collect()
    assert len(ObjectRegistry.registry) <= before + 2


# ---- 5: one code for sync and async
said = st.sampled_from(
    [None, "", "x", "y", "DONE 1", PASS, NO_ANSWER, f"{SEND_TO}sub do it", f"{SEND_TO}User look", f"{PASS_TO}sub", "q"]
)
script = st.lists(said, max_size=4)


@pytest.mark.shows("weak point 5", "Task.step", "Task.step_async", "Task.run", "Task.run_async")
@settings(max_examples=60)
@given(script, script, script, script, st.booleans(), st.booleans())
def test_sync_and_async_do_the_same_on_any_script(
    agent: list[Any], llm: list[Any], user: list[Any], below: list[Any], interactive: bool, null: bool
):
    def run(form: Callable[[Task], Any]) -> tuple[Any, list[str]]:
        log: list[str] = []
        task = saying(
            log=log, agent=agent, llm=llm, user=user, interactive=interactive, allow_null_result=null,
            only_user_quits_root=False,
        )  # fmt: skip
        task.add_sub_task(saying("sub", log, llm=below))
        try:
            result = form(task)
        except InfiniteLoopException as error:
            return type(error), log
        return (None if result is None else (result.content, result.metadata.status)), log

    in_turns = run(lambda task: task.run("go", turns=12))
    assert run(lambda task: asyncio.run(task.run_async("go", turns=12))) == in_turns


# ---- 8: one task, many runs at once
class Echo(ChatAgent):
    """Says what it was asked, after the others have been asked too."""

    waiting: Any = None

    def llm_response(self, message: Any = None) -> Any:
        if self.waiting is not None:
            self.waiting.wait(30)
        return f"DONE {message.content}"


@pytest.mark.shows("weak point 8", "Task.run_async(session_id)")
def test_one_task_runs_many_times_at_once_on_a_loop():
    task = Task(Echo(ChatAgentConfig(name="A", llm=ScriptedModel(["x"]))), interactive=False)

    async def all_of_them() -> list[Any]:
        runs = [task.run_async(f"number {n}", session_id=f"s{n}") for n in range(50)]
        return await asyncio.gather(*runs)

    assert [content(result) for result in asyncio.run(all_of_them())] == [f"number {n}" for n in range(50)]


@pytest.mark.shows("weak point 8", "Task.run(session_id)", "Task.pending_message")
def test_one_task_runs_many_times_at_once_in_threads():
    agent = Echo(ChatAgentConfig(name="A", llm=ScriptedModel(["x"])))
    agent.waiting = threading.Barrier(8)
    task = Task(agent, interactive=False)
    results: dict[int, Any] = {}

    def run(number: int) -> None:
        results[number] = task.run(f"number {number}", session_id=f"s{number}")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(50)
    assert {number: content(result) for number, result in results.items()} == {n: f"number {n}" for n in range(8)}


def told(request: Request) -> str:
    """Everything that the model was sent, but for the system's words."""
    return "heard " + " | ".join(str(each["content"]) for each in request.messages if each["role"] != "system")


@pytest.mark.shows("weak point 8")
@pytest.mark.parametrize("how", ["loop", "threads"])
def test_runs_of_one_session_take_turns_and_none_reads_another_s_words(how: str):
    """They are three rounds each: a model, its sub-task, the model again."""
    checker = Task(scripted("checked", name="checker"), interactive=False, single_round=True)
    agent = ChatAgent(ScriptedModel(lambda request: ("DONE " if "checked" in told(request) else "") + told(request)))
    task = Task(agent, interactive=False)
    task.add_sub_task(checker)
    questions = ["I am Ada", "I am Bob", "I am Cid"]

    async def at_once() -> list[Any]:
        return await asyncio.gather(*map(task.run_async, questions))

    if how == "loop":
        results = asyncio.run(at_once())
    else:
        with ThreadPoolExecutor(3) as pool:
            results = list(pool.map(task.run, questions))
    expected = [f"heard {each} | heard {each} | checked" for each in questions]
    assert [content(result) for result in results] == expected


def test_a_run_that_waits_for_its_turn_can_be_stopped_and_a_clone_does_not_wait():
    began, goes_on = threading.Event(), threading.Event()

    def answer(request: Request) -> str:
        if request.messages[-1]["content"] == "long":
            began.set()
            assert goes_on.wait(30)
        return f"DONE {request.messages[-1]['content']}"

    task = Task(ChatAgent(ScriptedModel(answer)), interactive=False)
    with ThreadPoolExecutor(1) as pool:
        long = pool.submit(task.run, "long")
        assert began.wait(30)
        try:
            assert task("short", timeout=0.05).status is StatusCode.TIMEOUT
            assert content(task.clone(1).run("short")) == "short"
            assert content(task.run("short", session_id="another")) == "short"
        finally:
            goes_on.set()
        assert content(long.result(30)) == "long"


def test_a_task_may_be_run_by_its_own_tools():
    class Ask(ToolMessage):
        request: str = "ask"
        purpose: str = "To ask <what>."
        what: str

    class Recursive(ChatAgent):
        def ask(self, message: Ask) -> str:
            return f"inner: {content(task.run(message.what, allow_restart=False))}"

    model = ScriptedModel(['{"request": "ask", "what": "deeper"}', "DONE bottom", "DONE top"])
    agent = Recursive(ChatAgentConfig(llm=model, use_tools=True))
    agent.enable_message(Ask)
    task = Task(agent, interactive=False)
    assert content(task.run("go")) == "top"


# ---- 10, 15: tools
class Count(ToolMessage):
    request: str = "count"
    purpose: str = "To count to <number>."
    number: int = 1

    def handle(self) -> str:
        return f"counted to {self.number}"


@pytest.mark.shows("weak point 15", "ToolMessage.default_value")
def test_the_schema_of_a_tool_is_not_made_anew_in_each_step(monkeypatch: pytest.MonkeyPatch):
    made: list[str] = []
    original = Count.model_json_schema.__func__  # type: ignore[attr-defined]

    def counting(cls: Any, *args: Any, **kwargs: Any) -> Any:
        made.append(cls.__name__)
        return original(cls, *args, **kwargs)

    monkeypatch.setattr(Count, "model_json_schema", classmethod(counting))
    calls = [f'{{"request": "count", "number": {number}}}' for number in range(10)]
    agent = scripted(*calls, "DONE counted")
    agent.enable_message(Count)
    assert content(Task(agent, interactive=False).run("count")) == "counted"
    assert [Count.default_value("request") for _ in range(10)] == ["count"] * 10
    assert len(made) <= 2


@pytest.mark.shows("weak point 10")
def test_the_order_of_tools_does_not_change_from_process_to_process():
    program = """
from trivium import ChatAgent, ChatAgentConfig, ToolMessage
from trivium.testing import ScriptedModel
agent = ChatAgent(ChatAgentConfig(llm=ScriptedModel(["x"])))
for name in ("delta", "alpha", "echo", "bravo", "charlie"):
    body = {"__annotations__": {"request": str, "purpose": str}, "request": name, "purpose": "To do it."}
    agent.enable_message(type(name, (ToolMessage,), body))
print(*agent.llm_tools_usable)
"""
    orders = {python(program, PYTHONHASHSEED=str(seed)) for seed in (1, 2, 3)}
    assert orders == {"delta alpha echo bravo charlie"}


# ---- 13: small defects
@pytest.mark.shows("weak point 13", "LLMMessage.function_call", "ToolMessage.get_value_of_type")
def test_the_small_defects_of_the_original_are_not_here():
    from trivium.schema import LLMFunctionCall

    call = LLMFunctionCall(name="count", arguments={"number": 3})
    assert "count" in str(LLMMessage(role=Role.ASSISTANT, content="", function_call=call))
    assert [Count(number=7).get_value_of_type(int) for _ in range(5)] == [7] * 5


# ---- 14, 16: ends
@pytest.mark.shows("weak point 14", "TaskConfig.inf_loop_action='raise'")
def test_an_infinite_loop_is_raised_or_a_status_as_is_asked():
    def task(**config: Any) -> Task:
        return Task(Saying(llm=["same"], user=["go on"]), config=TaskConfig(**config))

    assert TaskConfig().inf_loop_action == "raise"
    with pytest.raises(InfiniteLoopException):
        task().run("go", turns=500)
    assert task(inf_loop_action="status").run("go", turns=500) is None
    assert asyncio.run(task(inf_loop_action="status").run_async("go", turns=500)) is None


# ---- both names
@pytest.mark.shows("both names 3", "ChatDocument.to_LLMMessage", "ChatDocument.to_LLMMessage(message)")
@pytest.mark.parametrize("given", ["hello", document("hello"), document("hello", Entity.LLM)])
def test_the_entries_of_a_message_are_a_list_that_answers_as_its_one_entry(given: Any):
    entries: Any = ChatDocument.to_LLMMessage(given)
    assert len(entries) == 1
    assert list(entries) == entries
    role = Role.ASSISTANT if not isinstance(given, str) and given.metadata.sender is Entity.LLM else Role.USER
    assert (entries.role, entries.content) == (entries[0].role, entries[0].content) == (role, "hello")


@pytest.mark.shows("both names 13", "Task(interactive)", "Agent.interactive")
def test_whether_the_user_is_asked_is_a_matter_of_the_task_alone():
    log: list[str] = []
    saying(log=log, llm=["DONE"], user=["x"], interactive=False).run("go")
    assert "user" not in log
    saying(log=log, llm=["a"], user=["q"], interactive=True).run("go")
    assert log.count("user") == 1


@pytest.mark.shows("both names 15", "TaskConfig.logs_dir", "Task.logger", "Task.tsv_logger")
def test_a_second_run_adds_to_the_logs_of_the_first(tmp_path: Path):
    task = Task(scripted("DONE first", "DONE second"), interactive=False, config=TaskConfig(logs_dir=str(tmp_path)))
    task.run("go")
    task.run("go")
    for kind in ("log", "tsv"):
        text = (tmp_path / f"A.{kind}").read_text(encoding="utf-8")
        assert "first" in text
        assert "second" in text


@pytest.mark.shows("both names 17", "TaskConfig.logs_dir")
def test_each_task_has_logs_of_its_own(tmp_path: Path):
    config = TaskConfig(logs_dir=str(tmp_path))
    for name in ("one", "two"):
        Task(scripted(f"DONE {name}"), name=name, interactive=False, config=config).run("go")
    texts = {name: (tmp_path / f"{name}.tsv").read_text(encoding="utf-8") for name in ("one", "two")}
    assert "DONE two" not in texts["one"]
    assert "DONE one" not in texts["two"]


@pytest.mark.shows("Task.message_history_idx", "Task(erase_substeps)", "StatusCode.OK")
def test_a_run_knows_where_in_the_history_it_began():
    task = Task(scripted("DONE a", "DONE b"), interactive=False, restart=False, erase_substeps=True)
    assert task.message_history_idx == -1
    task.run("first")
    result = task.run("second")
    assert result is not None
    assert result.metadata.status in (StatusCode.DONE, StatusCode.OK)
    assert [entry.content for entry in task.agent.message_history][1:] == ["first", "DONE a", "second", "DONE b"]
