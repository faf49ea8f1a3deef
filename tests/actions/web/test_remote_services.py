"""Every remote service, over a real server that answers as it does: good, nothing, wrong and broken."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from trivium import Module, this_call
from trivium.actions import (
    ActionExecutor,
    ArxivSearch,
    AsyncArxivSearch,
    BaseAction,
    BINGMap,
    GoogleScholar,
    GoogleSearch,
)
from trivium.actions.web import BingSearch, BraveSearch, TencentSearch, _remote
from trivium.commander import CallNode
from trivium.exceptions import ConfigurationError, RemoteServiceError, RunKilledError, ToolArgumentsError
from trivium.schema import ActionReturn, ActionStatusCode, Message

from ._cases import ACTIONS, ATOM, CASES, KEY, NEARBY, POINT, Case, plain
from ._service import CUT, DROP, HANG, Answer, Service

by_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
# One question for each service, and one for each way of asking: what stands before the answer is read is one code.
by_service = pytest.mark.parametrize(
    "case", {case.name.split(".")[0]: case for case in CASES}.values(), ids=lambda case: case.name
)
by_transport = pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.name in ("arXiv", "Serper.run", "Tencent SearchPro")],
    ids=lambda case: case.name,
)
by_action = pytest.mark.parametrize("case", ACTIONS, ids=lambda case: case.name)


def failure(case: Case, service: Service) -> RemoteServiceError:
    """The error of a question, which must be the typed one and keep the key to itself."""
    with pytest.raises(RemoteServiceError) as caught:
        case.ask(service.url)
    error = caught.value
    assert case.name.split(".")[0] == error.service
    assert str(error).startswith(error.service)
    assert KEY not in repr(error)
    return error


@by_case
def test_a_good_answer_is_read(case: Case, service: Service) -> None:
    service.says(Answer(case.good))
    assert plain(case.ask(service.url)) == case.expected


@by_case
def test_that_there_is_nothing_is_said(case: Case, service: Service) -> None:
    service.says(Answer(case.empty))
    if isinstance(case.of_nothing, str) and case.method != "run":
        assert case.of_nothing in str(failure(case, service))
    else:
        assert plain(case.ask(service.url)) == case.of_nothing


@by_action
def test_the_async_twin_gives_the_same(case: Case, service: Service) -> None:
    service.says(Answer(case.good))
    assert case.make_async is not None
    twin = case.make_async(service.url)

    async def main() -> tuple[Any, ActionReturn]:
        arguments = dict(case.arguments)
        return await getattr(twin, case.method)(**arguments), await twin(json.dumps(arguments), case.method)

    direct, called = asyncio.run(main())
    assert plain(direct) == case.expected
    assert read(called) == case.expected


@by_action
def test_a_call_with_json_gives_the_same(case: Case, service: Service) -> None:
    service.says(Answer(case.good))
    returned = case.make(service.url)(json.dumps(case.arguments), case.method)
    assert (read(returned), returned.state) == (case.expected, ActionStatusCode.SUCCESS)


@by_action
def test_an_executor_gives_the_same(case: Case, service: Service) -> None:
    service.says(Answer(case.good))
    action: BaseAction = case.make(service.url)
    name = action.name if case.method == "run" else f"{action.name}.{case.method}"
    answer = ActionExecutor(action)(Message(content={"name": name, "parameters": dict(case.arguments)}))
    assert read(answer.content) == case.expected


@by_action
def test_a_failure_is_an_outcome_that_a_model_reads(case: Case, service: Service) -> None:
    service.says(Answer(b'{"message": "Forbidden."}', 403))
    returned = case.make(service.url)(json.dumps(case.arguments), case.method)
    assert returned.state is ActionStatusCode.HTTP_ERROR
    assert "answered 403: Forbidden; check " in str(returned.errmsg)


def read(returned: ActionReturn) -> Any:
    text = returned.format_result()
    try:
        made = json.loads(text)
    except ValueError:
        return text
    return text if isinstance(made, list) else made


# ---- what the service gets
@by_case
def test_the_words_arrive_as_they_were_written(case: Case, service: Service) -> None:
    service.says(Answer(case.good))
    case.ask(service.url)
    asked = service.asked[0]
    sent: dict[str, Any] = json.loads(asked.body) if asked.body else asked.params
    words = [value for value in case.arguments.values() if isinstance(value, str)]
    assert set(words) <= set(sent.values())


@by_case
def test_the_key_goes_where_the_service_looks_for_it(case: Case, service: Service) -> None:
    service.says(Answer(case.good))
    case.ask(service.url)
    asked = service.asked[0]
    headers = {"Bing Web Search": "ocp-apim-subscription-key", "Brave Search": "x-subscription-token",
               "SearXNG": "searxng", "Serper": "x-api-key"}  # fmt: skip
    params = {"SerpApi": "api_key", "Bing Maps": "key"}
    name = case.name.split(".")[0]
    in_header, in_params = KEY in asked.headers.values(), KEY in asked.params.values()
    assert (in_header, in_params) == (name in headers, name in params)
    assert name not in headers or asked.headers[headers[name]] == KEY
    assert name not in params or asked.params[params[name]] == KEY
    assert KEY.encode() not in asked.body


@by_case
def test_no_log_and_no_picture_shows_the_key(case: Case, service: Service, caplog: pytest.LogCaptureFixture) -> None:
    service.says(Answer(case.good))
    with caplog.at_level(logging.DEBUG):
        case.ask(service.url)
    assert caplog.records
    client = case.make(service.url)
    seen = f"{caplog.text} {client!r} {client._remote!r}"
    assert KEY not in seen
    assert "k3y-of-a-te" not in seen


@by_case
def test_the_paths_and_parameters_are_those_of_the_documents(case: Case, service: Service) -> None:
    service.says(Answer(case.good))
    case.ask(service.url)
    asked = service.asked[0]
    wanted = {
        "DuckDuckGo": ("GET", "/", {"q"}),
        "Bing Web Search": ("GET", "/search", {"q", "count"}),
        "Brave Search": ("GET", "/web/search", {"q", "count", "country"}),
        "SearXNG": ("GET", "/search", {"q", "format", "categories"}),
        "Serper": ("POST", "/search", set[str]()),
        "Serper.run": ("POST", "/search", set[str]()),
        "Tencent SearchPro": ("POST", "/", set[str]()),
        "arXiv": ("GET", "/query", {"search_query", "start", "max_results"}),
        "SerpApi.search_google_scholar": ("GET", "/search", {"engine", "q", "as_ylo", "api_key", "output"}),
        "SerpApi.get_author_information": ("GET", "/search", {"engine", "author_id", "api_key", "output"}),
        "SerpApi.get_citation_format": ("GET", "/search", {"engine", "q", "api_key", "output"}),
        "SerpApi.get_author_id": ("GET", "/search", {"engine", "mauthors", "hl", "api_key", "output"}),
        "Bing Maps.get_distance": ("GET", "/Routes/Driving", {"o", "wp.0", "wp.1", "distanceUnit", "key"}),
        "Bing Maps.get_route": ("GET", "/Routes/Driving", {"o", "wp.0", "wp.1", "distanceUnit", "key"}),
        "Bing Maps.get_coordinates": ("GET", "/Locations", {"o", "query", "key"}),
        "Bing Maps.search_nearby": ("GET", "/LocalSearch", {"o", "query", "userCircularMapView", "key"}),
    }
    assert (asked.method, asked.path, set(asked.params)) == wanted[case.name]


def test_places_are_looked_for_around_a_place_by_its_name(service: Service) -> None:
    service.says(Answer(POINT), Answer(NEARBY))
    found = BINGMap(KEY, base_url=service.url).search_nearby("café", places="Paris", radius=300)
    assert len(found["place"]) == 5
    assert [asked.params.get("userCircularMapView") for asked in service.asked] == [None, "48.85,2.35,300"]


def test_options_of_a_search_of_articles_go_to_the_service(service: Service) -> None:
    service.says(Answer(b"{}"))
    GoogleScholar(KEY, base_url=service.url).search_google_scholar("x", num=99, as_vis="1", lr="lang_en", start=0)
    GoogleScholar(KEY, base_url=service.url)({"mauthors": "x", "no_cache": True}, "get_author_id")
    first, second = (asked.params for asked in service.asked)
    assert first == {"engine": "google_scholar", "q": "x", "num": "20", "as_vis": "1", "lr": "lang_en", "start": "0",
                     "output": "json", "api_key": KEY}  # fmt: skip
    assert (second["engine"], second["no_cache"]) == ("google_scholar_profiles", "true")


def test_the_sizes_that_were_set_hold(service: Service) -> None:
    service.says(Answer(ATOM.encode()))
    arxiv = ArxivSearch(1, 5, 4, base_url=service.url)
    assert arxiv.get_arxiv_article_information("tea leaves")["content"].endswith("Summary: We s")
    assert (service.asked[0].params["search_query"], service.asked[0].params["max_results"]) == ("tea l", "1")
    with pytest.raises(ConfigurationError, match="from 1 on"):
        ArxivSearch(0)


# ---- what goes wrong
@by_service
@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_is_no_reason_to_try_again(case: Case, status: int, service: Service) -> None:
    key = "x" if case.name in ("DuckDuckGo", "arXiv") else KEY  # those two have none that they could send back
    service.says(Answer(f'{{"error": "Invalid API key {key}."}}'.encode(), status))
    error = failure(case, service)
    assert (error.status, len(service.asked)) == (status, 1)
    assert f"answered {status}: Invalid API key {'x' if key == 'x' else '***'}; " in str(error)


@by_transport
def test_a_busy_or_broken_service_is_asked_again(case: Case, service: Service) -> None:
    service.says(Answer(status=429, headers={"retry-after": "0"}), Answer(b"<h1>oops</h1>", 502), Answer(case.good))
    assert plain(case.ask(service.url)) == case.expected
    assert len(service.asked) == 3


@by_transport
def test_a_broken_connection_is_tried_again(case: Case, service: Service) -> None:
    service.says(Answer(fault=DROP), Answer(case.good, fault=CUT), Answer(case.good))
    assert plain(case.ask(service.url)) == case.expected


@by_transport
def test_a_service_that_stays_broken_is_given_up(case: Case, service: Service) -> None:
    service.says(Answer(b"<html>Service Unavailable</html>", 503))
    error = failure(case, service)
    assert (error.status, len(service.asked)) == (503, 3)
    assert "answered 503: Service Unavailable; try again later" in str(error)


@by_transport
def test_a_connection_that_stays_broken_is_given_up(case: Case, service: Service) -> None:
    service.says(Answer(fault=DROP))
    assert "check the network and base_url" in str(failure(case, service))
    assert len(service.asked) == 3


def test_a_service_that_wants_to_be_left_alone_for_long_is(service: Service) -> None:
    service.says(Answer(b'{"message": "Quota exceeded"}', 429, {"retry-after": "3600"}))
    with pytest.raises(RemoteServiceError, match=r"Quota exceeded; the quota .*wait \(3600 s\)") as caught:
        GoogleSearch(KEY, base_url=service.url).run("x")
    assert (caught.value.status, caught.value.retry_after, len(service.asked)) == (429, 3600.0, 1)


@by_case
@pytest.mark.parametrize("body", [b"", b"<html><h1>Log in to the hotel</h1></html>", b"\x00\xff\xfe", b"[" * 100_000])
def test_what_is_no_answer_at_all_is_said(case: Case, body: bytes, service: Service) -> None:
    service.says(Answer(body))
    error = failure(case, service)
    assert (error.status, len(service.asked)) == (200, 1)
    assert "check base_url" in str(error)


@pytest.mark.parametrize("case", CASES[1:], ids=lambda case: case.name)  # half a page of HTML is a page
def test_an_answer_that_ends_too_early_is_said(case: Case, service: Service) -> None:
    service.says(Answer(case.good[: len(case.good) // 2]))
    assert failure(case, service).status == 200


@by_case
def test_json_of_another_form_is_said(case: Case, service: Service) -> None:
    for body in (b"[]", b"null", b"3", b'"x"'):
        service.says(Answer(body))
        assert failure(case, service).status == 200


@by_transport
def test_an_endless_answer_is_cut_off(case: Case, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_remote, "MAX_BYTES", 1 << 20)
    packed = gzip.compress(b" " * (5 << 20) + case.good)
    for answer in (Answer(b" " * (2 << 20)), Answer(packed, headers={"content-encoding": "gzip"})):
        service.says(answer)
        assert "sent more than 1 MB" in str(failure(case, service))


def test_a_packing_that_is_none_is_said(service: Service) -> None:
    service.says(Answer(b"no gzip", headers={"content-encoding": "gzip"}))
    with pytest.raises(RemoteServiceError, match="cannot be decompressed"):
        ArxivSearch(base_url=service.url).get_arxiv_article_information("x")
    assert len(service.asked) == 1


def test_a_redirect_is_not_followed_with_the_key(service: Service) -> None:
    with Service(Answer(b"{}")) as other:
        service.says(Answer(status=302, headers={"location": f"{other.url}/x"}))
        with pytest.raises(RemoteServiceError, match="answered 302: Found; check base_url"):
            GoogleScholar(KEY, base_url=service.url).get_author_id("x")
        assert not other.asked


def test_nothing_of_the_environment_is_used(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    with Service(Answer(b"{}")) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        service.says(Answer(b"{}"))
        GoogleSearch(KEY, base_url=service.url).run("x")
        assert not proxy.asked


def test_the_time_is_that_of_all_tries_together(service: Service) -> None:
    service.says(Answer(fault=HANG))
    with pytest.raises(RemoteServiceError, match=r"gave no complete answer in 0\.3 s: .*raise timeout"):
        GoogleSearch(KEY, timeout=0.3, base_url=service.url).run("x")
    assert len(service.asked) <= 1  # none, where this machine was too slow to send it
    assert not service.asked or service.gone.wait(30)


def test_no_server_is_said_with_the_address(service: Service) -> None:
    with Service() as closed:
        url = closed.url
    with pytest.raises(RemoteServiceError, match=f"could not be reached at {url}") as caught:
        ArxivSearch(base_url=url).get_arxiv_article_information("x")
    assert caught.value.status == 0


# ---- stopping
class Asker(Module):
    """Asks the action that it was given, whose node can be killed."""

    def __init__(self, action: Any) -> None:
        super().__init__()
        self.action, self.nodes = action, list[CallNode]()

    async def forward(self, message: Message) -> str:
        self.nodes.append(this_call())
        out = self.action.get_arxiv_article_information("x")
        return str(await out if asyncio.iscoroutine(out) else out)


class SyncAsker(Asker):
    def forward(self, message: Message) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        self.nodes.append(this_call())
        return str(self.action.get_arxiv_article_information("x"))


@pytest.mark.parametrize(("asker", "kind"), [(Asker, AsyncArxivSearch), (SyncAsker, ArxivSearch)])
def test_a_killed_run_ends_its_request(asker: type[Asker], kind: type[ArxivSearch], service: Service) -> None:
    module = asker(kind(base_url=service.url))
    service.says(Answer(fault=HANG))
    service.on_request = lambda: module.nodes[0].kill()
    with pytest.raises(RunKilledError):
        module(Message(content="go", sender="user"))
    assert service.gone.wait(10)


def test_a_killed_run_does_not_wait_for_the_next_try(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_remote, "FIRST_DELAY", 3600.0)
    module = SyncAsker(ArxivSearch(base_url=service.url, timeout=100_000))
    service.says(Answer(status=503))
    service.on_request = lambda: module.nodes[0].kill()
    with pytest.raises(RunKilledError):
        module(Message(content="go", sender="user"))


def test_a_deadline_of_the_run_is_the_runs(service: Service) -> None:
    service.says(Answer(fault=HANG))
    with pytest.raises(TimeoutError) as caught:
        SyncAsker(ArxivSearch(base_url=service.url))(Message(content="go", sender="user"), timeout=0.2)
    assert not isinstance(caught.value, RemoteServiceError)


# ---- what is given
@pytest.mark.parametrize(
    ("kind", "variable"),
    [
        (BingSearch, "BING_API_KEY"),
        (BraveSearch, "BRAVE_API_KEY"),
        (GoogleSearch, "SERPER_API_KEY"),
        (GoogleScholar, "SERPAPI_API_KEY"),
        (BINGMap, "BING_MAP_KEY"),
        (TencentSearch, "TENCENT_SECRET_ID"),
        (TencentSearch, "TENCENT_SECRET_KEY"),
    ],
)
@pytest.mark.usefixtures("service")
def test_a_missing_key_is_named_with_the_place_to_get_it(
    kind: Callable[[], Any], variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for other in _remote.KEYS.keys() - {variable}:
        monkeypatch.setenv(other, KEY)
    with pytest.raises(ConfigurationError, match=f"set {variable}, or give .*=; it comes from "):
        kind()
    monkeypatch.setenv(variable, f" {KEY}\n")
    assert kind() is not None
    monkeypatch.setenv(variable, "schlüssel")
    with pytest.raises(ConfigurationError, match="copy it again"):
        kind()


@by_case
def test_empty_words_are_refused_before_anything_is_sent(case: Case, service: Service) -> None:
    name = next(iter(case.arguments))
    with pytest.raises(ToolArgumentsError, match="is empty"):
        case._replace(arguments={**case.arguments, name: " \n"}).ask(service.url)
    assert not service.asked


@by_case
def test_words_that_utf8_cannot_hold_are_sent_with_a_mark(case: Case, service: Service) -> None:
    service.says(Answer(case.good))
    name = next(iter(case.arguments))
    assert plain(case._replace(arguments={**case.arguments, name: "a\ud800b\x00"}).ask(service.url)) == case.expected


@pytest.mark.parametrize("url", ["", "ftp://x", "http://", "export.arxiv.org", "http://x?key=1"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="base_url"):
        ArxivSearch(base_url=url)


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_time_that_is_none_is_refused(timeout: float) -> None:
    with pytest.raises(ConfigurationError, match="timeout"):
        BingSearch(KEY, timeout=timeout)
