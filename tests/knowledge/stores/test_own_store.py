"""A store of one's own: the one of the documents, and the check that every store passes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from knowledge.stores._kinds import Words, opened, serve, texts_of
from trivium.exceptions import ConfigurationError
from trivium.knowledge import Library, VectorStoreConfig
from trivium.testing import assert_store_works

DOCUMENT = Path(__file__).parents[3] / "docs" / "stores.md"


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the documents."""
    found = re.search(r"^```python file=own_store.py\n(.*?)^```", DOCUMENT.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert found is not None
    assert len([line for line in found[1].splitlines() if line.strip()]) <= 40
    module = ModuleType("own_store")
    exec(found[1], vars(module))
    monkeypatch.setitem(__import__("sys").modules, "own_store", module)
    return module


def test_every_kind_of_store_passes_the_check(config: VectorStoreConfig):
    assert_store_works(lambda model: opened(config, embedding=model, replace_collection=True))


def test_a_library_is_ingested_into_an_own_store_again_only_where_it_has_changed(own: Any, tmp_path: Path):
    (tmp_path / "lease.md").write_text("The rent is 950 EUR a month.")
    store = opened(own.MemoryStoreConfig(embedding=Words()))
    first, again = (Library(store).ingest(tmp_path) for _ in range(2))
    assert (len(first.added), len(again.added), len(again.unchanged)) == (1, 0, 1)
    assert store.similar_texts_with_scores("rent", 1)[0][0].metadata.source.endswith("lease.md")
    assert store.full_text("rent") is None


def test_an_own_store_has_one_collection(own: Any):
    store = opened(own.MemoryStoreConfig(embedding=Words()))
    serve(store, "a", "one")
    assert store.list_collections() == ["trivium"]
    with pytest.raises(ConfigurationError, match="has one collection, 'trivium': make another store for 'other'"):
        store.set_collection("other", replace=True)
    store.delete_collection("other")
    store.set_collection("trivium")
    assert texts_of(store) == ["one"]
    assert store.clear_all_collections(really=True) == 1
    assert store.count() == 0


def _replaces_nothing(self: Any, where: object, rows: object) -> int:
    return 0


def _scans_unsorted(self: Any, where: object) -> Iterator[Any]:
    return iter(chunk for chunk, _ in self.rows.values())


def _matches_all(self: Any, where: object) -> list[Any]:
    return [*self.rows.values()]


def _finds_nothing(self: Any, vector: object, k: int, where: object) -> list[Any]:
    return []


def _deletes_what_is_served(self: Any, where: object) -> Any:
    return self.replace_chunks(where, ())


@pytest.mark.parametrize(
    ("method", "broken", "told"),
    [
        ("replace_chunks", _replaces_nothing, "all chunks, by source and position"),
        ("scan_chunks", _scans_unsorted, "all chunks, by source"),
        ("matching", _matches_all, "the chunks of "),
        ("find_nearest", _finds_nothing, "the number of hits"),
        ("delete_matching", _deletes_what_is_served, "a chunk was published that was"),
    ],
)  # fmt: skip
def test_the_check_names_what_a_store_does_wrong(own: Any, method: str, broken: Any, told: str):
    kind: Any = type("Broken", (own.MemoryStore,), {method: broken})
    with pytest.raises(AssertionError, match=re.escape(told)):
        assert_store_works(lambda model: kind(own.MemoryStoreConfig(embedding=model)))
