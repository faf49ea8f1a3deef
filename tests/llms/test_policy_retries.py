"""When a failed request is made again: the table, the waits, the deadline, the budget, and what users see of it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from email.utils import formatdate
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium import Agent, Limits
from trivium.commander import run_sync
from trivium.commander.lowlevel import node_name
from trivium.exceptions import (
    ConfigurationError,
    DeadlineExceededError,
    MalformedAnswerError,
    ProviderAuthenticationError,
    ProviderBusyError,
    ProviderConnectionError,
    ProviderError,
    ProviderQuotaError,
    ProviderStatusError,
)
from trivium.llms import Delta, Finish, OpenAIModel, Request, RetryEvent, RetryPolicy
from trivium.llms._call import call_model
from trivium.llms.http._policy import FLOOR, STATUSES, RetryBudget, Tries
from trivium.llms.http._retry_after import seconds_in, seconds_to_wait
from trivium.observers import RunRecord
from trivium.schema import Usage

from ._provider_answers import gpt_text, refused
from ._servers import ChatServer, Script, event_stream, http_answer

ASK = Request([{"role": "user", "content": "hi"}])
AT_ONCE = RetryPolicy(first_delay=0.0)
HOURS = str(10 * 3600)


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRIVIUM_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def model_at(chat: ChatServer, retry: RetryPolicy = AT_ONCE, **options: Any) -> OpenAIModel:
    return OpenAIModel("m", base_url=chat.url, retry=retry, **options)


async def collect(model: OpenAIModel) -> list[Delta]:
    return [delta async for delta in model.stream(ASK)]


def broken_off(*texts: str) -> Script:
    """A stream whose connection ends before the length that it has promised."""
    whole = http_answer(b"".join(gpt_text(*texts)[1:-3]), kind="text/event-stream")[0]
    return [whole.replace(b"content-length: ", b"Content-Length: 9")]


# ---- the table
@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_a_status_that_passes_is_tried_again(chat: ChatServer, status: int) -> None:
    chat.scripts = [refused(f"{status} No")] * 2 + [gpt_text("a")]
    assert asyncio.run(collect(model_at(chat)))[0] == "a"
    assert len(chat.received) == 3


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422, 501, 505])
def test_any_other_status_is_not(chat: ChatServer, status: int) -> None:
    chat.scripts = [refused(f"{status} No"), gpt_text("a")]
    with pytest.raises(ProviderStatusError) as caught:
        asyncio.run(collect(model_at(chat)))
    assert caught.value.status == status
    assert len(chat.received) == 1


def test_the_user_says_which_statuses_pass(chat: ChatServer) -> None:
    chat.scripts = [refused("418 Tea"), gpt_text("a")]
    policy = RetryPolicy(first_delay=0.0, statuses={418})
    assert asyncio.run(collect(model_at(chat, policy)))[0] == "a"
    chat.scripts = [refused("503 Busy"), gpt_text("a")]
    with pytest.raises(ProviderBusyError):
        asyncio.run(collect(model_at(chat, policy)))


@pytest.mark.parametrize(("status", "word", "asked"), [("400 No", "true", 2), ("503 Busy", "false", 1)])
def test_what_the_server_says_goes_before_the_table(chat: ChatServer, status: str, word: str, asked: int) -> None:
    chat.scripts = [refused(status, x_should_retry=word)] * 2
    with pytest.raises(ProviderStatusError):
        asyncio.run(collect(model_at(chat, RetryPolicy(max_tries=2, first_delay=0.0))))
    assert len(chat.received) == asked


def test_a_call_that_groqs_model_wrote_wrongly_is_asked_for_again(chat: ChatServer) -> None:
    chat.scripts = [refused("400 No", code="tool_use_failed"), gpt_text("a")]
    assert asyncio.run(collect(model_at(chat)))[0] == "a"


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (http_answer(b'{"Message": "Bearer Token has expired"}', "403 No"), "403: Bearer Token has expired"),
        (refused("400 No", "tool choice requires --enable-auto-tool-choice"), r"Capabilities\(tools=False\)"),
    ],
)
def test_bedrocks_and_vllms_refusals_say_why(chat: ChatServer, script: Script, told: str) -> None:
    chat.scripts = [script]
    with pytest.raises(ProviderStatusError, match=told):
        asyncio.run(collect(model_at(chat)))


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (refused("429 Slow", code="insufficient_quota"), ProviderQuotaError),
        (refused("400 No", "Your credit balance is too low to use the API"), ProviderQuotaError),
        (refused("402 Pay"), ProviderQuotaError),
        (refused("429 No", "GenerateRequestsPerDayPerProjectPerModel-FreeTier"), ProviderQuotaError),
        (refused("401 No"), ProviderAuthenticationError),
        (refused("403 No"), ProviderAuthenticationError),
        (refused("400 No", "API key expired", "API_KEY_INVALID"), ProviderAuthenticationError),
        (refused("400 No", "Incorrect API key provided: ab"), ProviderAuthenticationError),
        (refused("400 No", 'Invalid messages[0]: API key not valid, "code": "API_KEY_INVALID"'), ProviderStatusError),
        (refused("307 No", location="http://[half"), ProviderStatusError),
        (refused("429 Slow", retry_after=HOURS), ProviderBusyError),
    ],
)
def test_the_error_has_the_class_of_its_cause(chat: ChatServer, script: Script, kind: type[Exception]) -> None:
    chat.scripts = [script, gpt_text("a")]
    with pytest.raises(ProviderStatusError) as caught:
        asyncio.run(collect(model_at(chat)))
    assert type(caught.value) is kind
    assert len(chat.received) == 1


# ---- how long
@pytest.mark.parametrize("name", ["x_request_id", "request_id"])
@pytest.mark.parametrize("message", ["no", "prompt is too long", "no, see req_7"])
def test_an_error_names_the_request_as_the_server_does(chat: ChatServer, name: str, message: str) -> None:
    chat.scripts = [refused("400 No", message, **{name: "req_7"})]
    with pytest.raises(ProviderStatusError) as caught:
        asyncio.run(collect(model_at(chat)))
    assert (caught.value.request_id, str(caught.value).count("req_7")) == ("req_7", 1)


def waits(now: float) -> dict[str, tuple[dict[str, str], str, float]]:
    """What a server sends at that time, and how many seconds it means."""
    return {
        "seconds": ({"retry-after": "7"}, "", 7),
        "part of a second": ({"retry-after": "0.25"}, "", 0.25),
        "milliseconds go before": ({"retry-after-ms": "1500", "retry-after": "9"}, "", 1.5),
        "date": ({"retry-after": formatdate(now + 100, usegmt=True)}, "", 100),
        "past date": ({"retry-after": formatdate(now - 100, usegmt=True)}, "", 0),
        "negative": ({"retry-after": "-3"}, "", 0),
        "ten hours": ({"retry-after": HOURS}, "", 36000),
        "a point in time": ({"retry-after": str(int(now) + 50)}, "", 50),
        "absent": ({}, "", 0),
        "nonsense": ({"retry-after": "soon", "retry-after-ms": "x"}, "", 0),
        "no number": ({"retry-after": "nan"}, "", 0),
        "no end": ({"retry-after": "inf"}, "", 0),
        "duration": ({"retry-after": "1m30s"}, "", 90),
        "Google": ({}, '{"details": [{"@type": "x.RetryInfo", "retryDelay": "3.5s"}]}', 3.5),
        "words": ({}, '{"message": "Limit reached. Please try again in 6m0s. See"}', 360),
        "words with a blank": ({}, "Please try again in 20 seconds.", 20),
        "words of Azure": ({}, "Please retry after 6 seconds.", 6),
        "minutes": ({}, "Try again in 2 minutes", 120),
        "words in milliseconds": ({}, "Please try again in 20ms.", 0.02),
        "empty bucket": ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1s"}, "", 1),
        "full bucket": ({"x-ratelimit-remaining-tokens": "5", "x-ratelimit-reset-tokens": "6m0s"}, "", 0),
        "two empty buckets": (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "6m0s",
            },
            "",
            360,
        ),
        "OpenRouter": ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(now * 1000) + 30_000)}, "", 30),
        "Anthropic": (
            {
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now + 40)),
            },
            "",
            40,
        ),
    }


@pytest.mark.parametrize("case", waits(0.0))
def test_a_server_says_how_long_to_wait_in_many_forms(case: str) -> None:
    headers, raw, seconds = waits(time.time())[case]
    assert seconds_to_wait(headers, raw) == pytest.approx(seconds, abs=5 if seconds > 20 else 0.01)
    if not seconds:
        assert seconds_to_wait(headers, raw) == 0


@given(st.text())
def test_any_text_is_seconds_or_nothing(text: str) -> None:
    found = seconds_in(text)
    assert found is None or found >= 0
    assert seconds_to_wait({"retry-after": text, "retry-after-ms": text}, text) >= 0


@given(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59), st.integers(1, 999))
def test_a_duration_is_the_sum_of_its_parts(hours: int, minutes: int, seconds: int, milliseconds: int) -> None:
    wanted = hours * 3600 + minutes * 60 + seconds + milliseconds / 1000
    assert seconds_in(f"{hours}h{minutes}m{seconds}s{milliseconds}ms") == pytest.approx(wanted)


def busy(retry_after: float = 0.0, status: int = 503) -> ProviderBusyError:
    return ProviderBusyError("busy", "", status, retry_after)


def test_waits_grow_are_spread_and_end_at_the_longest() -> None:
    policy = RetryPolicy(max_tries=99, first_delay=1.0, longest_delay=10.0)
    delays = [[policy.delay(busy(), attempt) or 0.0 for _ in range(50)] for attempt in (1, 2, 3, 60)]
    for expected, found in zip((1, 2, 4), delays, strict=False):
        assert all(expected / 2 <= each <= expected * 1.5 for each in found)
        assert len(set(found)) > 1
    assert set(delays[3]) == {10.0}


def test_what_the_server_asks_for_is_never_cut_short_and_spread_too() -> None:
    found = {RetryPolicy().delay(busy(5.0), 1) or 0.0 for _ in range(50)}
    assert all(5.0 <= each <= 6.0 for each in found)
    assert len(found) > 1


def test_a_wait_of_hours_is_not_begun_and_the_error_says_how_long(chat: ChatServer) -> None:
    chat.scripts = [refused("429 Slow", retry_after=HOURS), gpt_text("a")]
    with pytest.raises(ProviderBusyError, match=r"wait 36,000\.0 s") as caught:
        asyncio.run(collect(model_at(chat)))
    assert caught.value.retry_after == 36000
    assert len(chat.received) == 1


# ---- until when
def test_a_wait_that_would_pass_the_deadline_of_the_run_is_not_begun(chat: ChatServer) -> None:
    chat.scripts = [refused("503 Busy", retry_after="50"), gpt_text("a")]
    with pytest.raises(ProviderBusyError):
        Agent(model_at(chat))("hi", limits=Limits(seconds=40))
    assert len(chat.received) == 1


def test_a_wait_that_would_pass_the_deadline_of_all_tries_is_not_begun(chat: ChatServer) -> None:
    chat.scripts = [refused("503 Busy", retry_after="50"), gpt_text("a")]
    with pytest.raises(ProviderBusyError):
        asyncio.run(collect(model_at(chat, RetryPolicy(total_seconds=40))))
    assert len(chat.received) == 1


def test_a_silent_try_ends_at_the_deadline_of_all_tries(chat: ChatServer) -> None:
    head = event_stream()[0].replace(b"connection: close", b"x-keep: content-length")
    chat.scripts = [[head + b": still there\n\n"]]
    with pytest.raises(ProviderConnectionError, match=r"in 0\.05 s, all tries together.*total_seconds"):
        asyncio.run(collect(model_at(chat, RetryPolicy(total_seconds=0.05))))
    assert chat.closed.wait(60)
    assert len(chat.received) == 1


def test_the_deadline_of_all_tries_is_no_limit_for_who_reads_an_answer(chat: ChatServer) -> None:
    chat.scripts = [gpt_text("a", "b")]

    async def slowly() -> list[Delta]:
        found = list[Delta]()
        async for delta in model_at(chat, RetryPolicy(total_seconds=1.0)).stream(ASK):
            await asyncio.sleep(0.0 if found else 1.1)
            found.append(delta)
        return found

    assert asyncio.run(slowly())[:2] == ["a", "b"]


def test_the_deadline_of_the_run_ends_a_wait(chat: ChatServer) -> None:
    chat.scripts = [refused("503 Busy", retry_after="0.04"), [event_stream()[0].replace(b"close", b"content-length")]]
    with pytest.raises(DeadlineExceededError):
        Agent(model_at(chat))("hi", timeout=0.3)
    assert len(chat.received) == 2


# ---- the budget
def test_an_outage_is_not_multiplied(chat: ChatServer) -> None:
    requests = 40
    chat.scripts = [refused("503 Busy")] * 3 * requests
    model = model_at(chat, RetryPolicy(first_delay=0.0, budget=0.1))

    async def all_of_them() -> None:
        for _ in range(requests):
            with pytest.raises(ProviderBusyError):
                await collect(model)

    asyncio.run(all_of_them())
    assert len(chat.received) <= requests + FLOOR + 0.1 * requests
    assert len(chat.received) > requests


def test_a_retry_to_which_the_server_invites_is_free(chat: ChatServer) -> None:
    chat.scripts = [refused("429 Slow", retry_after="0.001"), gpt_text("a")] * 20
    model = model_at(chat, RetryPolicy(first_delay=0.0, budget=0.0))

    async def all_of_them() -> None:
        for _ in range(20):
            await collect(model)

    asyncio.run(all_of_them())
    assert len(chat.received) == 40


@given(st.lists(st.booleans(), max_size=300), st.floats(0, 1))
def test_there_are_never_more_retries_than_the_budget_says(requests: list[bool], share: float) -> None:
    budget, taken = RetryBudget(share), 0
    for number, fails in enumerate(requests, 1):
        budget.put()
        taken += fails and budget.acquire()
        assert taken <= FLOOR + share * number + 1e-6


def test_without_a_budget_every_request_has_its_tries() -> None:
    policy = RetryPolicy(first_delay=0.0, budget=None)
    budget = RetryBudget(policy.budget)
    for _ in range(200):
        tries = Tries(policy, budget)
        assert [tries.next_delay(busy()) for _ in range(3)] == [0.0, 0.0, None]


# ---- after the first delta
def test_nothing_is_replayed_after_the_first_piece(chat: ChatServer) -> None:
    chat.scripts = [broken_off("Hel"), gpt_text("Hello")]
    seen: list[Delta] = []

    async def run() -> None:
        async for delta in model_at(chat).stream(ASK):
            seen.append(delta)

    with pytest.raises(ProviderConnectionError):
        asyncio.run(run())
    assert seen == ["Hel"]
    assert len(chat.received) == 1


def test_where_a_replay_is_asked_for_nothing_of_what_broke_off_is_given_out(chat: ChatServer) -> None:
    chat.scripts = [broken_off("Hel"), gpt_text("Good", "bye")]
    deltas = asyncio.run(collect(model_at(chat, RetryPolicy(first_delay=0.0, replay=True))))
    assert deltas[:2] == ["Good", "bye"]
    assert Finish("stop") in deltas
    assert len(chat.received) == 2


def test_what_a_broken_answer_has_used_is_counted(chat: ChatServer) -> None:
    used = {"choices": [{"delta": {"content": "Hel"}}], "usage": {"prompt_tokens": 900, "completion_tokens": 1}}
    chat.scripts = [event_stream(f"data: {json.dumps(used)}\n\n".encode())]
    record = RunRecord()
    with pytest.raises(ProviderError):
        Agent(model_at(chat))("hi", listeners=[record])
    assert record.usage == Usage(900, 1)


@pytest.mark.parametrize(("second", "used"), [(gpt_text("Hello"), Usage(905, 3)), (refused("400 Bad"), Usage(900, 1))])
def test_what_broke_off_is_counted_where_it_is_replayed_too(chat: ChatServer, second: Script, used: Usage) -> None:
    piece = {"choices": [{"delta": {"content": "Hel"}}], "usage": {"prompt_tokens": 900, "completion_tokens": 1}}
    whole = http_answer(f"data: {json.dumps(piece)}\n\n".encode(), kind="text/event-stream")[0]
    chat.scripts = [[whole.replace(b"content-length: ", b"Content-Length: 9")], second]
    record = RunRecord()
    with contextlib.suppress(ProviderStatusError):
        Agent(model_at(chat, RetryPolicy(first_delay=0.0, replay=True)))("hi", listeners=[record])
    assert (record.usage, len(chat.received)) == (used, 2)


# ---- what is told
def test_every_retry_is_an_event_at_the_node_of_the_model_call(chat: ChatServer) -> None:
    chat.scripts = [refused("503 Busy", "sk-secret"), refused("429 Slow", retry_after="0.001"), gpt_text("a")]
    stream = Agent(model_at(chat, api_key="sk-secret")).stream("hi")
    retries = [event for event in stream if isinstance(event, RetryEvent)]
    assert stream.result.content == "a"
    assert [(each.kind, each.data.attempt) for each in retries] == [("retry", 1), ("retry", 2)]
    assert isinstance(retries[0].data.error, ProviderBusyError)
    assert retries[1].data.delay >= 0.001
    assert node_name(retries[0].node) == "model"
    assert "sk-secret" not in f"{retries} {retries[0].data.error.raw}"


def test_a_policy_refuses_numbers_that_cannot_be() -> None:
    odd: list[dict[str, Any]] = [
        {"max_tries": 0},
        {"first_delay": -1.0},
        {"longest_delay": 0.0},
        {"total_seconds": -1.0},
    ]
    odd += [{"budget": -0.1}, {"max_tries": "3"}, {"first_delay": "a"}, {"longest_delay": None}]
    odd += [{"statuses": 429}, {"statuses": None}, {"statuses": ["429"]}]
    for wrong in odd:
        with pytest.raises(ConfigurationError):
            RetryPolicy(**wrong)


def test_thousands_of_tries_are_as_good_as_three() -> None:
    assert 0 < cast("float", RetryPolicy(max_tries=9999).delay(ProviderConnectionError("x"), 5000)) <= 60


def test_only_errors_of_a_server_that_pass_are_tried_again() -> None:
    errors: list[ProviderError] = [MalformedAnswerError("x"), ProviderQuotaError("x", "", 429)]
    assert [RetryPolicy().delay(error, 1) for error in errors] == [None, None]
    assert all(RetryPolicy().delay(busy(status=status), 1) is not None for status in STATUSES)
    assert RetryPolicy().delay(ProviderConnectionError("x"), 1) is not None


def test_a_body_that_does_not_arrive_does_not_hide_the_status(chat: ChatServer) -> None:
    script = refused("400 Bad", "no such field")[0]
    chat.scripts = [[script.replace(b"content-length: ", b"Content-Length: 9")]]
    with pytest.raises(ProviderStatusError, match="400"):
        asyncio.run(collect(model_at(chat)))
    assert len(chat.received) == 1


def test_a_model_is_asked_by_sync_code_with_the_same_policy(chat: ChatServer) -> None:
    chat.scripts = [refused("503 Busy"), gpt_text("a")]
    assert run_sync(call_model, model_at(chat), ASK).text == "a"
