"""The services: how each is asked, what it answers as its documents show it, and what comes of that."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from trivium.actions import (
    ArxivSearch,
    AsyncArxivSearch,
    AsyncBINGMap,
    AsyncGoogleScholar,
    AsyncGoogleSearch,
    BINGMap,
    GoogleScholar,
    GoogleSearch,
)
from trivium.actions.web import (
    BingSearch,
    BraveSearch,
    DuckDuckGoSearch,
    SearxngSearch,
    TencentSearch,
    _arxiv,
    _bing_map,
    _google,
    _scholar,
    _searchers,
    _tencent,
)

KEY, QUERY = "k3y-of-a-te/st+", 'café "naïve" & 茶=100%'


class Case(NamedTuple):
    """One question to one service, whose answer a reader makes a result of."""

    name: str
    make: Callable[[str], Any]
    method: str
    arguments: Mapping[str, Any]
    good: bytes
    expected: Any
    empty: bytes
    of_nothing: Any  # what comes of the empty answer; a text: of an error
    read: Callable[[str], Any]
    make_async: Callable[[str], Any] | None = None

    def ask(self, url: str) -> Any:
        """Ask from sync code; a searcher, which has no such form, from a loop."""
        asked = getattr(self.make(url), self.method)
        return asyncio.run(asked(**self.arguments)) if self.is_searcher else asked(**self.arguments)

    @property
    def is_searcher(self) -> bool:
        return self.method == "search"

    @property
    def is_json(self) -> bool:
        return self.good.lstrip()[:1] == b"{"


def dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def results(*pages: tuple[str, str, str]) -> dict[int, dict[str, str]]:
    return {n: {"url": url, "title": title, "summ": said} for n, (url, title, said) in enumerate(pages)}


DUCK = """<!DOCTYPE html><html><head><title>tea at DuckDuckGo</title></head><body><div id="links" class="results">
<div class="result results_links results_links_deep result--ad "><div class="links_main links_deep result__body">
 <h2 class="result__title"><a rel="nofollow" class="result__a"
  href="https://duckduckgo.com/y.js?ad_domain=shop.example&amp;ad_provider=bingv7aa">Cheap tea</a></h2>
 <a class="result__snippet" href="https://duckduckgo.com/y.js?ad_domain=shop.example">Buy now.</a></div></div>
<div class="result results_links results_links_deep web-result "><div class="links_main links_deep result__body">
 <h2 class="result__title"><a rel="nofollow" class="result__a"
  href="//duckduckgo.com/l/?uddg=https%3A%2F%2Ftea.example%2Fk%C3%BCche%3Fa%3D1%26b%3D2&amp;rut=5f">The <b>tea</b>
  &amp; co</a></h2>
 <div class="result__extras"><a class="result__url" href="//duckduckgo.com/l/?uddg=x"> tea.example/küche </a></div>
 <a class="result__snippet" href="//duckduckgo.com/l/?uddg=x">All about <b>tea</b>,
  green &lt; black.</a></div></div>
<div class="result web-result "><h2 class="result__title">
 <a rel="nofollow" class="result__a" href="https://www.youtube.com/watch?v=1">A film</a></h2></div>
<div class="result web-result "><h2 class="result__title">
 <a rel="nofollow" class="result__a" href="https://cups.example/">Cups</a></h2></div>
</div></body></html>"""

ATOM = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><link href="http://arxiv.org/api/query?search_query%3Dtea" rel="self"/>
<title type="html">ArXiv Query: search_query=tea</title><id>http://arxiv.org/api/cHxbiOdZaP56ODnBPIenZhzg5f8</id>
<opensearch:totalResults xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">2</opensearch:totalResults>
<entry><id>http://arxiv.org/abs/2101.00001v2</id><updated>2021-02-03T04:05:06Z</updated>
 <published>2021-01-01T00:00:00Z</published><title>Tea leaves
  and paradoxes</title><summary>  We stir &amp; watch.
</summary><author><name>Ada Čapek</name></author><author><name>B. Rüdiger</name></author>
 <arxiv:comment xmlns:arxiv="http://arxiv.org/schemas/atom">4 pages</arxiv:comment></entry>
<entry><id>http://arxiv.org/abs/2101.00002v1</id><published>2021-01-02T00:00:00Z</published><title>Cups</title>
 <summary>Of China.</summary><author><name>C. Li</name></author></entry></feed>"""
NO_ENTRIES = '<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom"><title>x</title></feed>'
ARTICLES = (
    "Published: 2021-02-03\nTitle: Tea leaves and paradoxes\nAuthors: Ada Čapek, B. Rüdiger\nSummary: We stir & watch."
    "\n\nPublished: 2021-01-02\nTitle: Cups\nAuthors: C. Li\nSummary: Of China."
)

BING: Any = {
    "_type": "SearchResponse",
    "queryContext": {"originalQuery": "tea"},
    "webPages": {
        "totalEstimatedMatches": 2,
        "value": [
            {"id": "https://api.bing.microsoft.com/api/v7/#WebPages.0", "name": "Tea", "url": "https://tea.example/",
             "displayUrl": "https://tea.example", "snippet": "All about tea."},
            {"id": "https://api.bing.microsoft.com/api/v7/#WebPages.1", "name": "Cups", "url": "https://cups.example/a",
             "snippet": "All about cups."},
        ],
    },
    "news": {"id": "https://api.bing.microsoft.com/api/v7/#News",
             "value": [{"name": "Tea is dear", "url": "https://news.example/1", "description": "It is."}]},
    "rankingResponse": {
        "mainline": {
            "items": [
                {"answerType": "WebPages", "resultIndex": 1,
                 "value": {"id": "https://api.bing.microsoft.com/api/v7/#WebPages.1"}},
                {"answerType": "News", "value": {"id": "https://api.bing.microsoft.com/api/v7/#News"}},
                {"answerType": "RelatedSearches", "value": {"id": "https://api.bing.microsoft.com/api/v7/#R"}},
                {"answerType": "WebPages", "resultIndex": 0,
                 "value": {"id": "https://api.bing.microsoft.com/api/v7/#WebPages.0"}},
            ]
        }
    },
}  # fmt: skip

BRAVE: Any = {
    "type": "search",
    "query": {"original": "tea", "more_results_available": True},
    "web": {
        "type": "search",
        "results": [
            {"type": "search_result", "title": "Tea &amp; more", "url": "https://tea.example/",
             "description": "All about <strong>tea</strong>.", "extra_snippets": ["It&#x27;s hot."]},
            {"type": "search_result", "title": "A paper", "url": "https://tea.example/paper.PDF", "description": "x"},
        ],
    },
}  # fmt: skip

SEARXNG: Any = {
    "query": "tea",
    "number_of_results": 0,
    "results": [
        {"url": "https://tea.example/", "title": "Tea", "content": "All about\ntea.", "engine": "mojeek", "score": 1.0},
        {"url": "https://cups.example/", "title": "Cups", "engine": "qwant", "content": None},
    ],
    "answers": [], "corrections": [], "infoboxes": [], "suggestions": [], "unresponsive_engines": [["x", "timeout"]],
}  # fmt: skip

SERPER: Any = {
    "searchParameters": {"q": "tea", "type": "search", "num": 10, "engine": "google"},
    "knowledgeGraph": {
        "title": "Tea", "type": "Drink", "description": "Tea is a drink.", "descriptionSource": "Wikipedia",
        "descriptionLink": "https://en.wikipedia.org/wiki/Tea", "attributes": {"Origin": "China"},
    },
    "organic": [
        {"title": "Tea", "link": "https://tea.example/", "snippet": "All about tea.", "position": 1,
         "attributes": {"Rating": 4.5}},
        {"title": "Cups", "link": "https://cups.example/", "position": 2},
    ],
    "credits": 1,
}  # fmt: skip
SERPER_TEXTS = ["Tea: Drink.", "Tea is a drink.", "Tea Origin: China.", "All about tea.", "Rating: 4.5.", "Cups"]

TENCENT: Any = {
    "Response": {
        "Query": "tea",
        "Pages": [
            json.dumps({"title": "茶", "date": "2024-01-01", "url": "https://tea.example/", "passage": "关于茶",
                        "content": "", "site": "tea", "score": 0.9, "images": [], "favicon": ""}),
            {"Display": json.dumps({"title": "Cups", "url": "https://cups.example/", "abstract_info": "Of cups."})},
        ],
        "RequestId": "3c140219-cfe9-470e-b241-907877d6fb03",
    }
}  # fmt: skip

SCHOLAR: dict[str, Any] = {
    "search_metadata": {"id": "61", "status": "Success"},
    "search_information": {"organic_results_state": "Results for exact spelling", "total_results": 2},
    "organic_results": [
        {"position": 0, "title": "On tea", "result_id": "KNJ0p4CbwgoJ", "link": "https://tea.example/",
         "snippet": "We boil …",
         "publication_info": {"summary": "A Čapek - Journal of Tea, 2001 - tea.example"},
         "inline_links": {"cited_by": {"total": 14003, "link": "https://x.example", "cites_id": "77"}}},
        {"position": 1, "title": "On cups", "result_id": "abc", "inline_links": {}},
    ],
}  # fmt: skip
AUTHOR: Any = {
    "author": {"name": "Ada Čapek", "affiliations": "University of Tea", "website": "https://a.example/"},
    "articles": [{"title": f"On tea {n}", "citation_id": "1", "authors": "A Čapek", "year": "2001"} for n in range(5)],
}  # fmt: skip
PROFILES: Any = {
    "profiles": [{"name": "Ada", "author_id": "EicYvbwAAAAJ", "cited_by": 5}, {"name": "B", "author_id": "x"}]
}
CITE: Any = {"citations": [{"title": "MLA", "snippet": "Čapek, Ada. \"On tea.\" 2001."}, {"title": "APA"}],
        "links": [{"name": "BibTeX", "link": "https://x.example"}]}  # fmt: skip
NO_RESULTS = {
    "search_information": {"organic_results_state": "Fully empty"},
    "error": "Google hasn't returned any results for this query.",
}


def resources(*found: Any) -> bytes:
    sets: list[Any] = [{"estimatedTotal": len(found), "resources": list(found)}]
    return dump({"authenticationResultCode": "ValidCredentials", "resourceSets": sets, "statusCode": 200,
                 "statusDescription": "OK", "traceId": "0b1f"})  # fmt: skip


ROUTE = resources(
    {
        "__type": "Route:http://schemas.microsoft.com/search/local/ws/rest/v1", "distanceUnit": "Kilometer",
        "travelDistance": 465.3, "travelDuration": 16200,
        "routeLegs": [{"itineraryItems": [
            {"instruction": {"maneuverType": "DepartStart", "text": "Depart Rue de Rivoli"}, "travelDistance": 0.4},
            {"compassDirection": "south"},
            {"instruction": {"text": "Turn right onto A6"}},
        ]}],
    }
)  # fmt: skip
POINT = resources({"name": "Paris", "point": {"type": "Point", "coordinates": [48.85, 2.35]}, "confidence": "High"})
NEARBY = resources(
    *({"name": f"Café {n}", "Address": {"formattedAddress": f"{n} Rue X, Paris"}, "PhoneNumber": "1"} for n in range(7))
)


def made(kind: Callable[..., Any], *keys: str) -> Callable[[str], Any]:
    """Makes a service's client for the address of a server."""
    return lambda url: kind(*keys, base_url=url)


def _searcher(name: str, make: Callable[[str], Any], good: Any, expected: Any, empty: Any, read: Any) -> Case:
    good, empty = (body.encode() if isinstance(body, str) else dump(body) for body in (good, empty))
    return Case(name, make, "search", {"query": QUERY}, good, expected, empty, {}, read)


def _scholar_case(method: str, arguments: Any, good: Any, expected: Any, of_nothing: Any, read: Any) -> Case:
    return Case(
        f"SerpApi.{method}", made(GoogleScholar, KEY), method, arguments, dump(good), expected,
        dump(NO_RESULTS), of_nothing, read, made(AsyncGoogleScholar, KEY),
    )  # fmt: skip


def _map_case(method: str, arguments: Any, good: bytes, expected: Any, of_nothing: Any, read: Any) -> Case:
    return Case(
        f"Bing Maps.{method}", made(BINGMap, KEY), method, arguments, good, expected,
        resources(), of_nothing, read, made(AsyncBINGMap, KEY),
    )  # fmt: skip


CASES = [
    _searcher("DuckDuckGo", made(DuckDuckGoSearch), DUCK,
              results(("https://tea.example/küche?a=1&b=2", "The tea & co", "All about tea, green < black."),
                      ("https://cups.example/", "Cups", "")),
              '<html><body><div class="no-results">No results found</div></body></html>', _searchers.read_duckduckgo),
    _searcher("Bing Web Search", made(BingSearch, KEY), BING,
              results(("https://cups.example/a", "Cups", "All about cups."),
                      ("https://news.example/1", "Tea is dear", "It is."),
                      ("https://tea.example/", "Tea", "All about tea.")),
              {"_type": "SearchResponse", "rankingResponse": {}}, _searchers.read_bing),
    _searcher("Brave Search", made(BraveSearch, KEY), BRAVE,
              results(("https://tea.example/", "Tea & more", "All about tea. It's hot.")),
              {"type": "search", "query": {}}, _searchers.read_brave),
    _searcher("SearXNG", made(SearxngSearch, KEY), SEARXNG,
              results(("https://tea.example/", "Tea", "All about tea."), ("https://cups.example/", "Cups", "")),
              {"query": "x", "results": []}, _searchers.read_searxng),
    _searcher("Serper", made(GoogleSearch, KEY), SERPER,
              results(("https://en.wikipedia.org/wiki/Tea", "Tea: Drink", "Tea is a drink. Origin: China"),
                      ("https://tea.example/", "Tea", "All about tea. Rating: 4.5"),
                      ("https://cups.example/", "Cups", "")),
              {"searchParameters": {}, "organic": []}, partial(_google.read_pages, search_type="search")),
    _searcher("Tencent SearchPro", made(TencentSearch, "AKIDx", KEY), TENCENT,
              results(("https://tea.example/", "茶", "关于茶"), ("https://cups.example/", "Cups", "Of cups.")),
              {"Response": {"Pages": None, "Msg": "", "RequestId": "x"}}, _tencent.read_tencent),
    Case("arXiv", made(ArxivSearch), "get_arxiv_article_information", {"query": QUERY},
         ATOM.encode(), {"content": ARTICLES}, NO_ENTRIES.encode(),
         {"content": "arXiv has no article for this: use fewer or other words."},
         partial(_arxiv.read_feed, length=100), made(AsyncArxivSearch)),
    Case("Serper.run", made(GoogleSearch, KEY), "run", {"query": QUERY}, dump(SERPER),
         json.dumps(SERPER_TEXTS), b'{"organic": []}', '["Google has no result for this: use other words."]',
         partial(_google.read_texts, search_type="search", count=10), made(AsyncGoogleSearch, KEY)),
    _scholar_case("search_google_scholar", {"query": QUERY, "as_ylo": 2001}, SCHOLAR,
                  {"title": ["On tea", "On cups"], "cited_by": [14003, ""], "organic_id": ["KNJ0p4CbwgoJ", "abc"],
                   "snippets": ["We boil …", ""],
                   "pub_info": ["A Čapek - Journal of Tea, 2001 - tea.example", ""]},
                  {"title": [], "cited_by": [], "organic_id": [], "snippets": [], "pub_info": []},
                  _scholar.read_articles),
    _scholar_case("get_author_information", {"author_id": "EicYvbwAAAAJ"}, AUTHOR,
                  {"name": "Ada Čapek", "affiliations": "University of Tea", "website": "https://a.example/",
                   "articles": [{"title": f"On tea {n}", "authors": "A Čapek"} for n in range(3)]},
                  "knows no author with this id", _scholar.read_author),
    _scholar_case("get_citation_format", {"q": "KNJ0p4CbwgoJ"}, CITE, 'Čapek, Ada. "On tea." 2001.',
                  "knows no citation with this id", _scholar.read_citation),
    _scholar_case("get_author_id", {"mauthors": "Ada Čapek"}, PROFILES, {"author_id": "EicYvbwAAAAJ"},
                  "knows no author with this name", _scholar.read_author_id),
    _map_case("get_distance", {"start": QUERY, "end": "Lyon"}, ROUTE, {"distance": 465.3}, "knows no route",
              _bing_map.read_distance),
    _map_case("get_route", {"start": QUERY, "end": "Lyon"}, ROUTE,
              {"route": ["Depart Rue de Rivoli", "Turn right onto A6"]}, "knows no route", _bing_map.read_steps),
    _map_case("get_coordinates", {"location": QUERY}, POINT, {"latitude": 48.85, "longitude": 2.35},
              "does not know this place", _bing_map.read_coordinates),
    _map_case("search_nearby", {"search_term": QUERY, "latitude": 48.85, "longitude": 2.35}, NEARBY,
              {"place": [{"name": f"Café {n}", "address": f"{n} Rue X, Paris"} for n in range(5)]}, {"place": []},
              _bing_map.read_places),
]  # fmt: skip
ACTIONS = [case for case in CASES if not case.is_searcher]


def plain(result: Any) -> Any:
    """A result without its envelope: the text of an `ActionReturn`."""
    return result.format_result() if hasattr(result, "format_result") else result
