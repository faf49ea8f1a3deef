"""Vectors that are kept: in a file, on a real Redis server, and not where they are damaged."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest

from tasks._redis import Relay, redis_server
from trivium.caches import Cache, RedisCache, SQLiteCache
from trivium.commander import Event
from trivium.exceptions import ArgumentTypeError, CacheError, ConfigurationError
from trivium.knowledge.embeddings import CachedEmbedding, EmbeddingModel, Purpose
from trivium.llms import CacheEvent
from trivium.settings import settings


class Lengths(EmbeddingModel):
    name, dimensions = "lengths-1", 3

    def __init__(self) -> None:
        self.asked: list[str] = []

    def compute(self, texts: Sequence[str], purpose: Purpose) -> Any:
        self.asked += texts
        return [[len(text), 1.0, 1.0 if purpose == "query" else 2.0] for text in texts]


class Held:
    """A cache in a dict, which may be out of order."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self.fails = ""

    def get(self, key: str) -> str | None:
        if self.fails == "get":
            raise CacheError("gone", "here")
        return self.kept.get(key)

    def set(self, key: str, value: str, ttl: float | None = None) -> None:
        if self.fails == "set":
            raise CacheError("full", "here")
        self.kept[key] = value


@pytest.fixture(params=["sqlite", "redis"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Cache]:
    if request.param == "sqlite":
        made = SQLiteCache(tmp_path / "vectors.db")
        yield made
        made.close()
        return
    with redis_server(tmp_path) as path, Relay(path) as relay:
        remote = RedisCache(relay.url)
        yield remote
        remote.close()


def test_a_text_is_embedded_once_for_each_purpose(cache: Cache) -> None:
    inner = Lengths()
    model = CachedEmbedding(inner, cache)
    first = model.embed(["a", "bb", "a", "", "a" * 9])
    assert sorted(inner.asked) == ["a", "a" * 9, "bb"]
    again = CachedEmbedding(inner, cache).embed(["bb", "ccc", "a"])
    assert inner.asked[3:] == ["ccc"]
    assert (again[[0, 2]] == first[[1, 0]]).all()
    assert numpy.allclose(first, Lengths().embed(["a", "bb", "a", "", "a" * 9]))
    model.embed(["a"], "query")
    assert inner.asked[4:] == ["a"]
    assert (model.name, model.dimensions) == ("lengths-1", 3)


def test_another_model_has_vectors_of_its_own() -> None:
    class Other(Lengths):
        name = "lengths-2"

    held, other = Held(), Other()
    CachedEmbedding(Lengths(), held).embed(["a"])
    CachedEmbedding(other, held).embed(["a"])
    assert other.asked == ["a"]
    assert len(held.kept) == 2


@pytest.mark.parametrize(
    "damaged", ["", "3:", "nonsense", "3:AAAA", "2:AACAPwAAgD8AAIA/", "3:AADAfwAAgD8AAIA/", "x:AACAPw=="]
)
def test_what_is_damaged_is_made_again(damaged: str) -> None:
    held, inner = Held(), Lengths()
    model = CachedEmbedding(inner, held)
    before = model.embed(["a"])
    [key] = held.kept
    good, held.kept[key] = held.kept[key], damaged
    assert (model.embed(["a"]) == before).all()
    assert inner.asked == ["a", "a"]
    assert held.kept[key] == good


def test_a_cache_that_fails_is_reported_and_no_vector_is_lost() -> None:
    held, inner, seen = Held(), Lengths(), list[Event]()
    model = CachedEmbedding(inner, held)
    held.fails = "set"
    assert model.embed(["a"], listeners=[seen.append]).shape == (1, 3)
    received = [event.data for event in seen if isinstance(event, CacheEvent)]
    assert [(each.hit, type(each.error)) for each in received] == [(False, type(None)), (False, CacheError)]
    held.fails = "get"
    with pytest.raises(CacheError, match="gone"):
        model.embed(["b"])
    assert inner.asked == ["a"]


def test_nothing_is_kept_where_caches_are_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    held, inner = Held(), Lengths()
    monkeypatch.setattr(settings, "cache", False)
    CachedEmbedding(inner, held).embed(["a"])
    CachedEmbedding(inner, held).embed(["a"])
    assert (inner.asked, held.kept) == (["a", "a"], {})


def test_what_is_no_cache_or_no_model_is_reported_at_once() -> None:
    nothing: Any = object()
    with pytest.raises(ConfigurationError, match="SQLiteCache"):
        CachedEmbedding(Lengths(), nothing)
    with pytest.raises(ArgumentTypeError):
        CachedEmbedding(nothing, Held())
