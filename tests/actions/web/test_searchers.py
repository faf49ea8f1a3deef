"""Searchers: what is kept of the results, their options, and the signed requests."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.actions import GoogleSearch
from trivium.actions.web import (
    BaseSearch,
    BingSearch,
    BraveSearch,
    DuckDuckGoSearch,
    SearchResult,
    SearxngSearch,
    TencentSearch,
)
from trivium.actions.web._tencent import sign
from trivium.exceptions import ConfigurationError, RemoteServiceError

from ._cases import BRAVE, KEY, SERPER, dump
from ._service import Answer, Service


class Shelf(BaseSearch):
    """Gives the addresses that it was given."""

    def __init__(self, *urls: str, **options: Any) -> None:
        super().__init__(**options)
        self._urls = urls

    async def find(self, query: str, count: int) -> Sequence[SearchResult]:
        return [SearchResult(url, "t", "s") for url in self._urls]

    def kept(self, max_results: int | None = 99) -> list[str]:
        return [found["url"] for found in asyncio.run(self.search("x", max_results)).values()]


# ---- what is kept
def test_topk_holds_where_a_call_does_not_say() -> None:
    shelf = Shelf(*(f"https://x.example/{n}" for n in range(9)), topk=4)
    assert [len(shelf.kept(limit)) for limit in (None, 1, 7, 0, -1)] == [4, 1, 7, 0, 0]


@pytest.mark.parametrize(
    "url",
    [
        "https://youtube.com/watch",
        "http://www.YouTube.com:443/x",
        "https://x.example/paper.pdf",
        "https://x.example/PAPER.PDF?download=1",
        "ftp://x.example/a",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "//x.example/",
        "http://",
        "http://[::1",
        "",
    ],
)
def test_what_is_no_welcome_page_is_left_out(url: str) -> None:
    assert Shelf(url, "https://ok.example/").kept() == ["https://ok.example/"]


def test_a_domain_is_no_piece_of_text() -> None:
    urls = ("https://notyoutube.com/", "https://x.example/youtube.com")
    assert Shelf(*urls).kept() == list(urls)
    assert Shelf(*urls, black_list=["x.example", " .NotYouTube.com"]).kept() == []
    assert Shelf("https://youtube.com/", black_list=None).kept() == ["https://youtube.com/"]


def test_an_address_comes_once() -> None:
    assert Shelf("https://a.example/", "https://a.example/", "https://b.example/").kept() == [
        "https://a.example/",
        "https://b.example/",
    ]


@given(st.lists(st.text() | st.text("htps:/.[]@%a1é").map("http://".__add__)))
def test_any_address_is_kept_or_left_out(urls: list[str]) -> None:
    kept = Shelf(*urls).kept()
    assert set(kept) <= set(urls)
    assert all(url.lower().startswith(("http:", "https:")) for url in kept)


def test_a_searcher_gives_some_results() -> None:
    with pytest.raises(ConfigurationError, match="topk"):
        Shelf(topk=0)


# ---- options
def test_options_go_to_the_service(service: Service) -> None:
    service.says(Answer(dump(BRAVE)), Answer(b"{}"), Answer(b'{"results": []}'), Answer(b'{"Response": {}}'))
    asyncio.run(BraveSearch(KEY, "US", "en", True, base_url=service.url, freshness="pw").search("x", 99))
    asyncio.run(BingSearch(KEY, "zh-CN", base_url=service.url).search("x", 99))
    asyncio.run(SearxngSearch(language="de", categories="news", url=f"{service.url}/search/").search("x"))
    tencent = TencentSearch("i", KEY, "t0ken", insite="zhihu.com", Mode=2, base_url=service.url)
    asyncio.run(tencent.search("x"))
    brave, bing, searxng, signed = service.asked
    assert brave.params == {
        "q": "x", "count": "20", "country": "US", "search_lang": "en", "extra_snippets": "true", "freshness": "pw"
    }  # fmt: skip
    assert bing.params == {"q": "x", "mkt": "zh-CN", "count": "50"}
    assert searxng.params == {"q": "x", "format": "json", "categories": "news", "language": "de"}
    assert searxng.path == "/search"
    assert json.loads(signed.body) == {"Query": "x", "Site": "zhihu.com", "Mode": 2}
    assert signed.headers["x-tc-token"] == "t0ken"


def test_brave_searches_news(service: Service) -> None:
    found = {"type": "news", "results": [{"title": "Tea", "url": "https://n.example/", "description": "Dear."}]}
    service.says(Answer(dump(found)))
    searcher = BraveSearch(KEY, search_type="news", base_url=service.url)
    assert asyncio.run(searcher.search("x")) == {0: {"url": "https://n.example/", "title": "Tea", "summ": "Dear."}}
    assert service.asked[0].path == "/news/search"
    with pytest.raises(ConfigurationError, match="'web' or 'news', not 'maps'"):
        BraveSearch(KEY, search_type="maps")


def test_the_environment_may_name_the_instance(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.says(Answer(b'{"results": []}'))
    monkeypatch.setenv("SEARXNG_URL", f"{service.url}/search")
    assert asyncio.run(SearxngSearch().search("x")) == {}
    assert asyncio.run(SearxngSearch(base_url=f"{service.url}/mine").search("x")) == {}
    assert [asked.path for asked in service.asked] == ["/search", "/mine/search"]


def test_an_instance_without_json_is_reported(service: Service) -> None:
    service.says(Answer(b"<h1>Forbidden</h1>", 403))
    with pytest.raises(RemoteServiceError, match=r"SearXNG answered 403: Forbidden; .* json among search.formats"):
        asyncio.run(SearxngSearch(url=service.url).search("x"))


# ---- DuckDuckGo's robots
@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"<html>anomaly</html>", 202),
        Answer(b'<html><div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div></html>'),
    ],
)
def test_a_check_for_robots_is_reported(answer: Answer, service: Service) -> None:
    service.says(answer)
    with pytest.raises(RemoteServiceError, match=r"DuckDuckGo .* takes this for a robot: wait some minutes"):
        asyncio.run(DuckDuckGoSearch(base_url=service.url).search("x"))


# ---- Serper's other answers
@pytest.mark.parametrize(
    ("box", "said"),
    [
        ({"answer": "330 m"}, "330 m"),
        ({"snippet": "It is\n330 m.", "title": "T"}, "It is 330 m."),
        ({"snippetHighlighted": ["330 m", "1083 ft"]}, "330 m, 1083 ft"),
        ({"answer": 330}, "330"),
    ],
)
def test_a_direct_answer_stands_alone(box: dict[str, Any], said: str, service: Service) -> None:
    service.says(Answer(dump({**SERPER, "answerBox": {**box, "link": "https://tower.example/"}})))
    google = GoogleSearch(KEY, base_url=service.url)
    assert json.loads(google.run("x").format_result()) == [said]
    assert asyncio.run(google.search("x", 1))[0] == {"url": "https://tower.example/", "title": box.get("title", ""),
                                                     "summ": said}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "item", "text"),
    [
        ("news", {"title": "Tea", "link": "https://n.example/", "snippet": "Dear.", "date": "1 day ago"}, "Dear."),
        ("places", {"title": "Café X", "address": "1 Rue Y", "rating": 4}, "Café X: 1 Rue Y"),
        ("images", {"title": "A cup", "imageUrl": "https://i.example/a.png", "link": "https://i.example/"}, "A cup"),
    ],
)
def test_google_searches_more_than_pages(kind: str, item: dict[str, Any], text: str, service: Service) -> None:
    service.says(Answer(dump({kind: [item, item]})))
    google = GoogleSearch(KEY, search_type=kind, base_url=service.url, gl="us")
    assert json.loads(google.run("x", k=1).format_result()) == [text]
    assert (service.asked[0].path, json.loads(service.asked[0].body)) == (f"/{kind}", {"q": "x", "num": 1, "gl": "us"})


def test_no_more_results_are_asked_for_than_the_service_gives(service: Service) -> None:
    service.says(Answer(b"{}"))
    for k in (1000, -1):
        GoogleSearch(KEY, base_url=service.url).run("x", k=k)
    assert [json.loads(asked.body)["num"] for asked in service.asked] == [100, 1]


def test_google_searches_no_other_things() -> None:
    with pytest.raises(ConfigurationError, match="search_type is one of search, news, places, images, not 'maps'"):
        GoogleSearch(KEY, search_type="maps")


# ---- Tencent's signature
def test_a_request_is_signed_as_in_tencents_example() -> None:
    """The example of the documents of signature v3, with its keys of asterisks."""
    payload = rb'{"Limit": 1, "Filters": [{"Values": ["\u672a\u547d\u540d"], "Name": "instance-name"}]}'
    assert sign(
        "AKID" + "*" * 32, "*" * 32, "cvm", "cvm.tencentcloudapi.com", "DescribeInstances", payload, 1551113065
    ) == (
        "TC3-HMAC-SHA256 Credential=AKID********************************/2019-02-25/cvm/tc3_request, "
        "SignedHeaders=content-type;host;x-tc-action, "
        "Signature=10b1a37a7301a02ca19a647ad722d5e43b4b3cff309d421d85b46093f6ab6c4f"
    )


def test_what_is_signed_is_what_arrives(service: Service) -> None:
    service.says(Answer(b'{"Response": {}}'))
    asyncio.run(TencentSearch("AKIDx", KEY, base_url=service.url).search("茶"))
    asked = service.asked[0]
    headers = asked.headers
    assert (headers["x-tc-action"], headers["x-tc-version"]) == ("SearchPro", "2025-05-08")
    assert headers["content-type"] == "application/json; charset=utf-8"
    again = sign("AKIDx", KEY, "wsa", headers["host"], "SearchPro", asked.body, int(headers["x-tc-timestamp"]))
    assert headers["authorization"] == again
    assert re.search(r"Credential=AKIDx/\d{4}-\d\d-\d\d/wsa/tc3_request", again)


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("AuthFailure.SignatureFailure", "check TENCENT_SECRET_ID and TENCENT_SECRET_KEY"),
        ("RequestLimitExceeded", "wait, or send fewer requests"),
        ("InvalidParameter", "change the query"),
    ],
)
def test_an_error_within_a_good_answer_is_reported(code: str, advice: str, service: Service) -> None:
    error = {"Code": code, "Message": f"No. {KEY}"}
    service.says(Answer(dump({"Response": {"Error": error, "RequestId": "x"}})))
    with pytest.raises(RemoteServiceError, match=rf"refused \({code}\): No\. \*\*\*; {advice}"):
        asyncio.run(TencentSearch("AKIDx", KEY, base_url=service.url).search("x"))
