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

__all__ = ["AsyncGoogleScholar", "GoogleScholar"]

T = TypeVar("T")
_SHOWN = 3


class GoogleScholar(BaseAction):
    """Search Google Scholar for articles, their authors, and how they are cited.

    It goes through SerpApi and needs the key `SERPAPI_API_KEY`.

    Args:
        api_key: default: `$SERPAPI_API_KEY`.
        description: in place of the docstring's; see `BaseAction`.
        parser: reads arguments and writes results.
        timeout: seconds for one search.
        base_url: where the service is.

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
    @tool_api(explode_return=True)
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
        """Find scholarly articles; the three best are shown.

        Args:
            query: what to look for; `author:` and `source:` may stand in it.
            cites: the id of an article: look among those that cite it.
            as_ylo: the first year.
            as_yhi: the last year.
            scisbd: only what was added in the last year, by date: 1 abstracts, 2 everything.
            cluster: the id of an article: show all its versions.
            hl: the language of the page, as en.
            lr: the languages of the articles, as lang_en|lang_fr.
            start: how many results to pass over.
            num: how many results to ask for, at most 20.
            as_sdt: 0 without patents, 7 with them, 4 for case law.
            safe: active or off: the filter for adult content.
            filter: 1 or 0: leave out similar results, or not.
            as_vis: 1 leaves out mere citations.

        Returns:
            title (list): the titles.
            cited_by (list): how often each is cited.
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
        return await self._ask(read_articles, "google_scholar", params)

    @dual
    @tool_api(explode_return=True)
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
        """Tell who an author is, with three of their articles.

        Args:
            author_id: as get_author_id gives it.
            hl: the language of the page, as en.
            view_op: view_citation or list_colleagues: one part of the page.
            sort: title or pubdate; default: by citations.
            citation_id: the one citation to view.
            start: how many articles to pass over.
            num: how many articles to ask for.
            no_cache: ask anew where an answer is kept.

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
        return await self._ask(read_author, "google_scholar_author", params)

    @dual
    @tool_api(explode_return=True)
    @driver_neutral
    async def get_citation_format(self, q: str, no_cache: bool | None = None) -> str:
        """Tell how to cite an article, in MLA form.

        Args:
            q: the id of a result, from organic_id of search_google_scholar.
            no_cache: ask anew where an answer is kept.

        Returns:
            citation (str): the citation.
        """
        params = {"q": checked_query(q, self.name), "no_cache": no_cache}
        return await self._ask(read_citation, "google_scholar_cite", params)

    @dual
    @tool_api(explode_return=True)
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
            hl: the language of the page, as en.
            after_author: the token of the next page.
            before_author: the token of the page before.
            no_cache: ask anew where an answer is kept.

        Returns:
            author_id (str): the id of the first author found.
        """
        # fmt: off
        params = {
            "mauthors": checked_query(mauthors, self.name), "hl": hl, "after_author": after_author,
            "before_author": before_author, "no_cache": no_cache,
        }
        # fmt: on
        return await self._ask(read_author_id, "google_scholar_profiles", params)

    @driver_neutral
    async def _ask(self, read: Callable[[str], T], engine: str, params: Mapping[str, Any]) -> T:
        given = {"engine": engine, **params, "output": "json"}
        return await self._remote.request(read, "/search", params=given)


class AsyncGoogleScholar(AsyncActionMixin, GoogleScholar):
    """A `GoogleScholar` whose call and methods give a coroutine."""


def read_answer(text: str) -> dict[str, Any]:
    """The answer; that nothing was found is one, though SerpApi says it as an error."""
    answer = parse_object(text)
    error = find_text(answer, "error")
    if error and "hasn't returned any results" not in error:
        raise UnreadableError(f"refused: {error.rstrip('.')}; change the query or its options")
    return answer


def read_articles(text: str) -> dict[str, list[Any]]:
    """The three best articles, as lists of the same length."""
    results = find_array(read_answer(text), "organic_results")[:_SHOWN]
    return {
        "title": [find_text(result, "title") for result in results],
        "cited_by": [read_citation_count(result) for result in results],
        "organic_id": [find_text(result, "result_id") for result in results],
        "snippets": [find_text(result, "snippet") for result in results],
        "pub_info": [find_text(result, "publication_info", "summary") for result in results],
    }


def read_citation_count(result: object) -> int | str:
    """The number of a result's citations; the service's own text if that is no number."""
    said = find_text(result, "inline_links", "cited_by", "total")
    return int(said) if said.isdecimal() else said


def read_author(text: str) -> dict[str, Any]:
    """Read the profile of an author."""
    answer = read_answer(text)
    author = find_object(answer, "author")
    if not author:
        raise UnreadableError("knows no author of this id: ask get_author_id for it")
    articles = find_array(answer, "articles")[:_SHOWN]
    return {
        **{key: find_text(author, key) for key in ("name", "affiliations", "website")},
        "articles": [{key: find_text(article, key) for key in ("title", "authors")} for article in articles],
    }


def read_citation(text: str) -> str:
    """The first form of a citation, which is MLA's."""
    said = find_text(read_answer(text), "citations", 0, "snippet")
    if not said:
        raise UnreadableError("knows no citation of this id: take one of organic_id from search_google_scholar")
    return said


def read_author_id(text: str) -> dict[str, str]:
    """The id of the first profile."""
    said = find_text(read_answer(text), "profiles", 0, "author_id")
    if not said:
        raise UnreadableError("knows no author of this name: write it in another way, or add an affiliation")
    return {"author_id": said}
