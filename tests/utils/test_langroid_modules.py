"""Modules of Langroid that its API reference does not have, but programs import: what their names do."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import pytest

import trivium.agent
from tasks._redis import Relay, redis_server
from trivium.agent import tools
from trivium.agent.base import NO_ANSWER
from trivium.agent.chat_agent import ChatAgent, ChatAgentConfig
from trivium.agent.tools import orchestration
from trivium.agent.tools.rewind_tool import prune_messages
from trivium.cachedb.redis_cachedb import RedisCache, RedisCacheConfig
from trivium.exceptions import ConfigurationError
from trivium.language_models import MockLMConfig
from trivium.parsing import parse_json
from trivium.parsing.routing import parse_addressed_message
from trivium.schema import ChatDocLoggerFields, Entity, Message
from trivium.tasks import Task
from trivium.utils.configuration import Settings, settings, temporary_settings
from trivium.utils.html_logger import HTMLLogger
from trivium.utils.logging import (
    RichFileLogger,
    setup_colored_logging,
    setup_console_logger,
    setup_file_logger,
    setup_logger,
    setup_loggers_for_package,
)
from trivium.utils.output.status import status
from trivium.utils.types import PrimitiveType, from_string, is_callable, is_instance_of, to_string


# ---- agents
@pytest.mark.shows(
    "agent.ChatDocument",
    "agent.base.NO_ANSWER",
    "agent.tools.DonePassTool",
    "agent.tools.DoneTool",
)
def test_the_paths_of_agents_lead_to_the_things_themselves() -> None:
    assert trivium.agent.ChatDocument(content="x") == Message(content="x")
    assert NO_ANSWER == "DO-NOT-KNOW"
    model = MockLMConfig(default_response=tools.DoneTool(content="42").to_json())
    agent = ChatAgent(ChatAgentConfig(llm=model, use_tools=True, use_functions_api=False))
    agent.enable_message([tools.DoneTool, tools.DonePassTool])
    result = Task(agent, interactive=False).run("6 * 7?")
    assert result is not None
    assert result.content == "42"
    assert {"DoneTool", "DonePassTool", "ForwardTool", "ResultTool"} <= set(orchestration.__all__)


@pytest.mark.shows("agent.tools.rewind_tool.prune_messages(agent, idx)")
def test_pruned_messages_are_gone_with_all_that_followed() -> None:
    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(response_fn=lambda text: f"{text}?")))
    for text in ("one", "two"):
        agent.llm_response(text)
    said = [each.content for each in agent.message_history[1:]]
    assert said == ["one", "one?", "two", "two?"]
    prune_messages(agent, 3)
    assert [each.content for each in agent.message_history[1:]] == ["one", "one?"]
    with pytest.raises(AssertionError, match="message 0"):
        prune_messages(agent, 0)
    with pytest.raises(IndexError, match="the last is 2"):
        prune_messages(agent, 3)


# ---- caches
@contextmanager
def fake_cache(_: Path) -> Generator[RedisCache]:
    yield RedisCache(RedisCacheConfig(fake=True))


@contextmanager
def real_cache(folder: Path) -> Generator[RedisCache]:
    with redis_server(folder) as path, Relay(path) as relay:
        relay.command("SET", "another's", "1")
        yield RedisCache(RedisCacheConfig(url=f"unix://{path}"))
        assert relay.command("DBSIZE") == 0  # after `clear_all`


@pytest.mark.parametrize("make", [fake_cache, real_cache])
@pytest.mark.shows(
    "cachedb.redis_cachedb.RedisCache",
    "cachedb.redis_cachedb.RedisCacheConfig",
    "cachedb.redis_cachedb.RedisCacheConfig.fake=False",
    "cachedb.redis_cachedb.RedisCache.store()",
    "cachedb.redis_cachedb.RedisCache.retrieve()",
    "cachedb.redis_cachedb.RedisCache.delete_keys()",
    "cachedb.redis_cachedb.RedisCache.delete_keys_pattern()",
    "cachedb.redis_cachedb.RedisCache.clear()",
    "cachedb.redis_cachedb.RedisCache.clear_all()",
    "cachedb.redis_cachedb.RedisCache.close_all_connections()",
    "cachedb.redis_cachedb.RedisCache.config",
)
def test_a_redis_cache_keeps_json_values(make: Any, tmp_path: Path) -> None:
    with make(tmp_path) as cache:
        values = {"a1": {"x": [1, None]}, "a2": "text", "b": 3, "c": 0}
        for key, value in values.items():
            cache.store(key, value)
        assert {key: cache.retrieve(key) for key in values} == values
        assert cache.retrieve("d") is None
        cache.delete_keys(["b", "d"])
        cache.delete_keys([])
        cache.delete_keys_pattern("a*")
        assert [key for key in values if cache.retrieve(key) is not None] == ["c"]
        cache.close_all_connections()
        cache.clear()
        assert cache.retrieve("c") is None
        cache.store("a", 1)
        cache.clear_all()
        assert cache.retrieve("a") is None
        assert cache.config.fake is (make is fake_cache)
    with pytest.raises(ConfigurationError, match="URL"):
        RedisCache(RedisCacheConfig())


# ---- JSON and addresses in texts
TEXT = """It's {"a": {"x": "}"}}, isn't it? {'b': True, c: [1,],} {d e} {"a": 2}"""


@pytest.mark.shows(
    "parsing.parse_json.get_json_candidates()",
    "parsing.parse_json.extract_top_level_json()",
    "parsing.parse_json.top_level_json_field()",
)
def test_json_is_found_in_a_text() -> None:
    found = parse_json.get_json_candidates(TEXT)
    assert found == ['{"a": {"x": "}"}}', "{'b': True, c: [1,],}", "{d e}", '{"a": 2}']
    assert parse_json.extract_top_level_json(TEXT) == ['{"a": {"x": "}"}}', '{"b": true, "c": [1]}', '{"a": 2}']
    assert [parse_json.top_level_json_field(TEXT, name) for name in ("a", "c", "e")] == [{"x": "}"}, [1], ""]
    assert parse_json.get_json_candidates('}{ {"a": 1} {') == ['{"a": 1}']


@pytest.mark.shows(
    "parsing.parse_json.is_valid_json()",
    "parsing.parse_json.parse_imperfect_json()",
    "parsing.parse_json.try_repair_json_yaml()",
    "parsing.parse_json.flatten()",
    "parsing.parse_json.datetime_to_json()",
)
def test_json_is_read_in_spite_of_its_faults() -> None:
    faulty = "[{'a': True,}]"
    assert [parse_json.is_valid_json(each) for each in (faulty, "[1]", "[" * 100_000)] == [False, True, False]
    assert parse_json.parse_imperfect_json(faulty) == [{"a": True}]
    assert [parse_json.try_repair_json_yaml(each) for each in (faulty, "[]", "a b")] == ['{"a": true}', None, None]
    for text in ("", "a b", "3"):
        with pytest.raises(ValueError, match=r"neither|column"):
            parse_json.parse_imperfect_json(text)
    assert list(parse_json.flatten(["a", ["b", ("c", [])]])) == ["a", "b", "c"]
    assert [parse_json.datetime_to_json(each) for each in (datetime(2026, 1, 2), 3)] == ["2026-01-02T00:00:00", 3]


@pytest.mark.shows("parsing.routing.parse_addressed_message(content, addressing)")
def test_the_last_addressee_counts() -> None:
    asked = "thank you @bob, I ask @alice again. @alice, where is it?\nHere? "
    assert parse_addressed_message(asked) == ("alice", "where is it?\nHere?")
    assert parse_addressed_message("for @alice") == ("alice", "")
    assert parse_addressed_message("@alice hi", addressing="|@|") == (None, "@alice hi")
    assert parse_addressed_message("|@|alice: hi", addressing="|@|") == ("alice", "hi")


# ---- types
@pytest.mark.shows("utils.types.is_instance_of()")
def test_a_value_is_compared_with_a_type_down_to_its_items() -> None:
    fits: list[tuple[Any, Any]] = [
        (1, Any), (True, int), (None, int | None), ([1, 2], list[int]), ((1, "a"), tuple[int, str]),
        ((1, 2), tuple[int, ...]), ({"a": [1]}, dict[str, list[int]]), ("a", Literal["a"]), ([], list[str]),
        ((1, 2), tuple),
    ]  # fmt: skip
    assert [pair for pair in fits if not is_instance_of(*pair)] == []
    others = [
        (1, str), ([1, "a"], list[int]), ((1,), tuple[int, str]), ({"a": 1}, dict[str, str]), (1, Literal[True]),
        ({1}, set[str]), ((1, "a"), tuple[int, ...]), ("a", list[str]),
    ]  # fmt: skip
    assert [pair for pair in others if is_instance_of(*pair)] == []


@pytest.mark.shows(
    "utils.types.to_string()", "utils.types.from_string()", "utils.types.is_callable()", "utils.types.PrimitiveType"
)
def test_values_become_text_and_texts_values() -> None:
    assert [to_string(each) for each in (None, "a", {"a": 1}, 1j)] == ["", "a", '{"a": 1}', "1j"]
    assert to_string(Settings(max_turns=7)) == Settings(max_turns=7).model_dump_json()
    kinds: list[type[PrimitiveType]] = [int, float, bool, str]
    assert [from_string("1", kind) for kind in kinds] == [1, 1.0, True, "1"]
    assert [from_string("x", kind) for kind in kinds] == [None, None, False, "x"]
    assert [is_callable(each) for each in (len, print, 3, to_string)] == [True, False, False, True]
    assert is_callable(is_instance_of, 2)


# ---- logs
class LoggedFields(ChatDocLoggerFields):
    """A line of a log as a task of Langroid writes it."""

    responder: str
    mark: str = ""
    task_name: str = "root"


@pytest.mark.shows(
    "utils.html_logger.HTMLLogger(filename, log_dir, model_info, append)",
    "utils.html_logger.HTMLLogger.file_path",
    "utils.html_logger.HTMLLogger.log()",
    "utils.html_logger.HTMLLogger.close()",
)
def test_a_page_has_what_was_logged(tmp_path: Path) -> None:
    page = HTMLLogger("run", str(tmp_path / "new"), model_info="gpt-x")
    page.log(LoggedFields(responder="Entity.LLM", sender_entity=Entity.LLM, content="<b>42</b>", mark="*"))
    page.log(LoggedFields(responder="AGENT", content='{"n": 1}', tool="square", tool_type="TOOL", recipient="Bob"))
    page.log(ChatDocLoggerFields(content="plain"))
    page.close()
    text = page.file_path.read_text("utf-8")
    assert page.file_path == tmp_path / "new" / "run.html"
    assert "&lt;b&gt;42&lt;/b&gt;" in text
    assert "<b>42" not in text
    for part in ("LLM · gpt-x", 'class="tool">square<', "→ Bob", "plain", 'class="entry user d0 try"'):
        assert part in text
    HTMLLogger("run", str(tmp_path / "new"), append=True)
    assert page.file_path.read_text("utf-8") == text
    HTMLLogger("run", str(tmp_path / "new"))
    assert "42" not in page.file_path.read_text("utf-8").rpartition("</script>")[2]


@pytest.mark.shows(
    "utils.logging.RichFileLogger(log_file, append)",
    "utils.logging.RichFileLogger.log()",
    "utils.logging.RichFileLogger.close()",
)
def test_a_file_has_one_logger_until_all_have_closed_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "run.log"
    one, other = RichFileLogger(str(path)), RichFileLogger(str(path))
    assert one is other
    one.log("first")
    one.close()
    other.log("[second]")
    other.close()
    assert path.read_text() == "first\n[second]\n"
    for keeps, expected in ((True, "first\n[second]\nx\n"), (False, "x\n")):
        again = RichFileLogger(str(path), append=keeps)
        again.log("x")
        again.close()
        assert path.read_text() == expected


@pytest.fixture
def names() -> Generator[list[str]]:
    """Names of loggers, which lose their handlers at the end."""
    found = [f"a_program.{number}" for number in range(3)]
    root = logging.getLogger()
    before = list(root.handlers)
    yield found
    root.handlers[:] = before
    for name in found:
        logger = logging.getLogger(name)
        for handler in logger.handlers[:]:
            handler.close()
            logger.removeHandler(handler)
        logger.propagate = True


@pytest.mark.shows(
    "utils.logging.setup_logger()",
    "utils.logging.setup_file_logger()",
    "utils.logging.setup_console_logger()",
    "utils.logging.setup_colored_logging()",
    "utils.logging.setup_loggers_for_package()",
)
def test_loggers_are_set_up(names: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain, console, file = names
    assert setup_logger(plain, logging.ERROR).level == logging.ERROR
    setup_console_logger(console).info("to the console")
    assert f"{console} - INFO - to the console" in capsys.readouterr().err
    path = tmp_path / "new" / "a.log"
    setup_file_logger(file, str(path)).info("to the file")
    assert path.read_text() == "to the file\n"
    assert "to the file" not in capsys.readouterr().err
    setup_colored_logging()
    logging.getLogger(plain).error("in red")
    assert "\x1b[31m" in capsys.readouterr().err
    setup_loggers_for_package("email", logging.CRITICAL)
    assert logging.getLogger("email.mime.text").level == logging.CRITICAL


@pytest.mark.shows("utils.output.status(log_if_quiet=True)")
def test_a_status_is_shown_unless_the_settings_say_quiet(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.INFO), status("Reading"), status("not logged", log_if_quiet=False):
        assert settings.quiet
    assert caplog.messages == ["Reading"]
    assert capsys.readouterr() == ("", "")
    with temporary_settings(Settings(quiet=False)):
        with status("Reading"):
            assert settings.quiet
        assert not settings.quiet
    assert caplog.messages == ["Reading"]
