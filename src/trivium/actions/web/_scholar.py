"""Google Scholar through SerpApi."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from trivium.actions._action import BaseAction, BaseParser, JsonParser, tool_api
from trivium.actions._dual import AsyncActionMixin, dual
from trivium.actions.web._remote import (
    Remote,
    UnreadableError,
    checked_query,
    find_array,
    find_key,
    find_object,
    find_text,
    parse_object,
)
from trivium.commander import driver_neutral
from trivium.schema.lowlevel import checked

T = TypeVar("T")
_SHOWN = 3


class GoogleScholar(BaseAction):
    """Search Google Scholar for articles, their authors, and how they are cited.

    It goes through SerpApi and needs the key `SERPAPI_API_KEY`.

    Args:
        api_key: default: `$SERPAPI_API_KEY`.
        description: replaces the docstring's description; see `BaseAction`.
        parser: parses arguments and renders results.
        timeout: the limit of one search, in seconds.
        base_url: the address of the service.

    Raises:
        ConfigurationError: there is no key.

    Example::

        GoogleScholar(api_key="…").get_author_id("Ada Lovelace")["author_id"]
    """

    @checked
    def __init__(
        self,
        api_key: str | None = None,
        description: Mapping[str, Any] | None = None,
        parser: type[BaseParser] = JsonParser,
        *,
        timeout: float = 60.0,
        base_url: str = "https://serpapi.com",
    ) -> None:
        super().__init__(description, parser)
        self._remote = Remote(
            "SerpApi", base_url, timeout=timeout, hidden={"api_key": find_key("SERPAPI_API_KEY", api_key)}
        )

    @dual
    @tool_api(explode_return=True, sends=True, source="web")
    @driver_neutral
    async def search_google_scholar(
        self,
        query: str,
        cites: str | None = None,
        as_ylo: int | None = None,
        as_yhi: int | None = None,
        scisbd: int | None = None,
        cluster: str | None = None,
        hl: str | None = None,
        lr: str | None = None,
        start: int | None = None,
        num: int | None = None,
        as_sdt: str | None = None,
        safe: str | None = None,
        filter: str | None = None,
        as_vis: str | None = None,
    ) -> dict[str, list[Any]]:
        """Find scholarly articles; returns the three best.

        Args:
            query: what to look for; it may contain `author:` and `source:`.
            cites: the id of an article: search the articles that cite it.
            as_ylo: the first year.
            as_yhi: the last year.
            scisbd: only articles added in the last year, by date: 1 abstracts, 2 everything.
            cluster: the id of an article: show all its versions.
            hl: the language of the page, for example en.
            lr: the languages of the articles, for example lang_en|lang_fr.
            start: how many results to skip.
            num: how many results to request, at most 20.
            as_sdt: 0 without patents, 7 with them, 4 for case law.
            safe: active or off: the filter for adult content.
            filter: 1 leaves out similar results, 0 does not.
            as_vis: 1 leaves out mere citations.

        Returns:
            title (list): the titles.
            cited_by (list): the number of citations of each.
            organic_id (list): ids of the results, for get_citation_format.
            snippets (list): a passage of each.
            pub_info (list): authors, journal and year of each.
        """
        # fmt: off
        params = {
            "q": checked_query(query, self.name), "cites": cites, "as_ylo": as_ylo, "as_yhi": as_yhi, "scisbd": scisbd,
            "cluster": cluster, "hl": hl, "lr": lr, "start": start, "num": num and max(1, min(num, 20)),
            "as_sdt": as_sdt, "safe": safe, "filter": filter, "as_vis": as_vis,
        }
        # fmt: on
        return await self._query(read_articles, "google_scholar", params)

    @dual
    @tool_api(explode_return=True, sends=True, source="web")
    @driver_neutral
    async def get_author_information(
        self,
        author_id: str,
        hl: str | None = None,
        view_op: str | None = None,
        sort: str | None = None,
        citation_id: str | None = None,
        start: int | None = None,
        num: int | None = None,
        no_cache: bool | None = None,
    ) -> dict[str, Any]:
        """Return the profile of an author, with three articles.

        Args:
            author_id: the id, from get_author_id.
            hl: the language of the page, for example en.
            view_op: view_citation or list_colleagues: one part of the page.
            sort: title or pubdate; default: by citations.
            citation_id: the one citation to view.
            start: how many articles to skip.
            num: how many articles to request.
            no_cache: do not use a cached answer.

        Returns:
            name (str): the author's name.
            affiliations (str): where the author works.
            website (str): the author's page.
            articles (list): at most three, each with title and authors.
        """
        # fmt: off
        params = {
            "author_id": checked_query(author_id, self.name), "hl": hl, "view_op": view_op, "sort": sort,
            "citation_id": citation_id, "start": start, "num": num, "no_cache": no_cache,
        }
        # fmt: on
        return await self._query(read_author, "google_scholar_author", params)

    @dual
    @tool_api(explode_return=True, sends=True, source="web")
    @driver_neutral
    async def get_citation_format(self, q: str, no_cache: bool | None = None) -> str:
        """Return a citation of an article, in MLA form.

        Args:
            q: the id of a result, from organic_id of search_google_scholar.
            no_cache: do not use a cached answer.

        Returns:
            citation (str): the citation.
        """
        params = {"q": checked_query(q, self.name), "no_cache": no_cache}
        return await self._query(read_citation, "google_scholar_cite", params)

    @dual
    @tool_api(explode_return=True, sends=True, source="web")
    @driver_neutral
    async def get_author_id(
        self,
        mauthors: str,
        hl: str | None = "en",
        after_author: str | None = None,
        before_author: str | None = None,
        no_cache: bool | None = None,
    ) -> dict[str, str]:
        """Find the id of an author by name.

        Args:
            mauthors: the name.
            hl: the language of the page, for example en.
            after_author: the token of the next page.
            before_author: the token of the page before.
            no_cache: do not use a cached answer.

        Returns:
            author_id (str): the id of the first author found.
        """
        # fmt: off
        params = {
            "mauthors": checked_query(mauthors, self.name), "hl": hl, "after_author": after_author,
            "before_author": before_author, "no_cache": no_cache,
        }
        # fmt: on
        return await self._query(read_author_id, "google_scholar_profiles", params)

    @driver_neutral
    async def _query(self, read: Callable[[str], T], engine: str, params: Mapping[str, object]) -> T:
        given = {"engine": engine, **params, "output": "json"}
        return await self._remote.request(read, "/search", params=given)


class AsyncGoogleScholar(AsyncActionMixin, GoogleScholar):
    """The async form of `GoogleScholar`."""


def read_answer(text: str) -> dict[str, Any]:
    """Read the answer; SerpApi's error "no results" counts as an empty answer."""
    answer = parse_object(text)
    error = find_text(answer, "error")
    if error and "hasn't returned any results" not in error:
        raise UnreadableError(f"refused: {error.rstrip('.')}; change the query or its options")
    return answer


def read_articles(text: str) -> dict[str, list[Any]]:
    """Read the three best articles, as lists of the same length."""
    results = find_array(read_answer(text), "organic_results")[:_SHOWN]
    return {
        "title": [find_text(result, "title") for result in results],
        "cited_by": [read_citation_count(result) for result in results],
        "organic_id": [find_text(result, "result_id") for result in results],
        "snippets": [find_text(result, "snippet") for result in results],
        "pub_info": [find_text(result, "publication_info", "summary") for result in results],
    }


def read_citation_count(result: object) -> int | str:
    """Read the number of a result's citations; the service's text if it is not a number."""
    said = find_text(result, "inline_links", "cited_by", "total")
    return int(said) if said.isdecimal() else said


def read_author(text: str) -> dict[str, Any]:
    """Read the profile of an author."""
    answer = read_answer(text)
    author = find_object(answer, "author")
    if not author:
        raise UnreadableError("knows no author with this id: call get_author_id for it")
    articles = find_array(answer, "articles")[:_SHOWN]
    return {
        **{key: find_text(author, key) for key in ("name", "affiliations", "website")},
        "articles": [{key: find_text(article, key) for key in ("title", "authors")} for article in articles],
    }


def read_citation(text: str) -> str:
    """Read the first form of a citation, which is MLA."""
    said = find_text(read_answer(text), "citations", 0, "snippet")
    if not said:
        raise UnreadableError("knows no citation with this id: use one of organic_id from search_google_scholar")
    return said


def read_author_id(text: str) -> dict[str, str]:
    """Read the id of the first profile."""
    said = find_text(read_answer(text), "profiles", 0, "author_id")
    if not said:
        raise UnreadableError("knows no author with this name: write it in another way, or add an affiliation")
    return {"author_id": said}
