"""Sources without an end: an ingest goes on without them, and its report says which limit they reached."""

from __future__ import annotations

import itertools
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from trivium.agents.special.table import ReadOnlyTables, TableLimits
from trivium.exceptions import ConfigurationError, DocumentTimeoutError, DocumentTooLargeError, UnreadableDocumentError
from trivium.knowledge import EmbeddingModel, IngestEvent, IngestLimits, Library, Source, VectorStore, VectorStoreConfig
from trivium.schema import Document

from ._measured import cost_of

ENDLESS = """
import itertools
from trivium.agents.special.table import ReadOnlyTables
ReadOnlyTables({"a": number, "b": str(number)} for number in itertools.count())
"""
INGEST = """
import itertools
from trivium.knowledge import IngestLimits, Library, Source, VectorStore, VectorStoreConfig
from trivium.schema import Document
class Endless(Source):
    def documents(self):
        return (Document(content=f"The rent of flat {number} is {number} EUR. " * 1000) for number in itertools.count())
    def state(self):
        return ""
    def fingerprint(self):
        return "0" * 64
store = VectorStore.create(VectorStoreConfig(embedding=None, storage_path=sys.argv[1]))
report = Library(store, limits=IngestLimits(seconds=1.5)).ingest(Endless("endless"))
assert not report.added and not store.sources()
raise report.failed["endless"]
"""


class Endless(Source):
    """A source whose text has no end."""

    text = "The rent is {number} EUR. "

    def documents(self) -> Iterator[Document]:
        return (Document(content=self.text.format(number=number) * 1000) for number in itertools.count())

    def state(self) -> str:
        return ""

    def fingerprint(self) -> str:
        return "0" * 64


def store() -> VectorStore:
    """A store in memory, without vectors."""
    made = VectorStore.create(VectorStoreConfig(embedding=None))
    assert made is not None
    return made


def test_rows_without_an_end_are_a_typed_error() -> None:
    cost = cost_of(ENDLESS)
    assert (cost.error, cost.limit) == ("DocumentTooLargeError", "rows")
    assert cost.seconds < 20
    assert cost.megabytes < 256
    assert "TableLimits(rows=…)" in cost.text


@pytest.mark.parametrize("value", ["'x' * 1_000_000", "['x' * 1000] * 1000"], ids=["text", "a list"])
def test_large_values_without_an_end_are_a_typed_error(value: str) -> None:
    body = "import itertools\nfrom trivium.agents.special.table import ReadOnlyTables\n"
    cost = cost_of(f"{body}ReadOnlyTables({{'a': {value}}} for number in itertools.count())")
    assert (cost.error, cost.limit) == ("DocumentTooLargeError", "given_bytes"), cost
    assert "TableLimits(given_bytes=…)" in cost.text
    assert (cost.megabytes < 256, cost.seconds < 20) == (True, True), cost


def test_the_number_of_rows_can_be_raised_and_rows_in_memory_have_no_limit() -> None:
    rows = [{"a": 1}] * 30
    with pytest.raises(DocumentTooLargeError, match="more than 20"):
        ReadOnlyTables(iter(rows), limits=TableLimits(rows=20))
    for data in (rows, iter(rows[:20])):
        ReadOnlyTables(data, limits=TableLimits(rows=20)).close()


SLOW = """
import itertools, time
from trivium.agents.special.table import ReadOnlyTables, TableLimits
ReadOnlyTables(({"a": time.sleep(float(sys.argv[1]))} for _ in itertools.count()), limits=TableLimits(seconds=0.5))
"""


@pytest.mark.parametrize("wait", [0.1, 1000], ids=["each row", "the next row blocks"])
def test_rows_that_come_slowly_are_left_when_their_time_is_over(wait: float) -> None:
    cost = cost_of(SLOW, wait)
    assert (cost.error, cost.limit) == ("DocumentTimeoutError", "seconds")
    assert cost.seconds < 5
    assert "TableLimits(seconds=…)" in cost.text


def test_rows_that_are_bound_to_a_thread_are_given_as_a_list() -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        rows = ({"a": value} for (value,) in database.execute("SELECT 1"))
        with pytest.raises(sqlite3.ProgrammingError) as caught:
            ReadOnlyTables(rows)
        assert "as a list" in caught.value.__notes__[0]
        given = [{"a": value} for (value,) in database.execute("SELECT 1")]
        with closing(ReadOnlyTables(given)) as tables:
            assert tables.query("SELECT a FROM data").rows == [(1,)]


WIDE = """
from pathlib import Path
from trivium.agents.special.table import ReadOnlyTables
width, rows, file = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
with file.open("w") as opened:
    opened.write(",".join(f"c{at}" for at in range(width)) + "\\n")
    values = ",".join(f"text ROW {at}" if at % 2 else f"ROW.{at}" for at in range(width)) + "\\n"
    for row in range(rows):
        opened.write(values.replace("ROW", str(row)))
tables = ReadOnlyTables(file)
said = str(tables.query(f"SELECT count(*), max(c{width - 1}) FROM wide").rows)
"""


@pytest.mark.parametrize(("width", "rows"), [(500, 8_000), (2_000, 1_500)])
def test_a_wide_table_takes_no_more_memory_than_loading_may(width: int, rows: int, tmp_path: Path) -> None:
    cost = cost_of(WIDE, width, rows, tmp_path / "wide.csv")
    assert (cost.megabytes < 256, cost.seconds < 30) == (True, True), cost  # with the time for making the file
    if width > 500:
        assert (cost.error, cost.limit) == ("DocumentTooLargeError", "memory")
        assert "TableLimits(memory=…)" in cost.text
    else:
        assert cost.text.startswith(f"[({rows}, 'text 9"), cost


def test_a_source_without_an_end_is_left_when_its_time_is_over(tmp_path: Path) -> None:
    cost = cost_of(INGEST, tmp_path / "store.db")
    print(cost)
    assert (cost.error, cost.limit) == ("DocumentTimeoutError", "seconds")
    assert cost.seconds < 20
    assert cost.megabytes < 256


def test_the_other_sources_go_on_and_what_is_done_is_told(tmp_path: Path) -> None:
    (tmp_path / "lease.txt").write_text("The rent is 950 EUR.")
    told: list[str] = []

    def listen(event: object) -> None:
        if isinstance(event, IngestEvent) and event.data.source == "endless":
            told.append(f"{event.data.outcome} {event.data.chunks}")

    kept = store()
    limits = IngestLimits(text_bytes=2_000_000)
    report = Library(kept, limits=limits).ingest(Endless("endless"), tmp_path / "lease.txt", listeners=[listen])
    error = report.failed["endless"]
    assert isinstance(error, DocumentTooLargeError)
    assert (error.limit, error.value) == ("text_bytes", 2_000_000)
    assert "IngestLimits(text_bytes=…)" in str(error)
    assert [each.source for each in kept.sources()] == [str(tmp_path / "lease.txt")]
    assert told[-1] == "failed 0"
    assert len(told) > 3


@pytest.mark.parametrize("text", [Endless.text, ""])
def test_a_slow_source_says_how_far_it_came_and_names_the_limit(text: str) -> None:
    source = Endless("endless")
    source.text = text
    error = Library(store(), limits=IngestLimits(seconds=0.01)).ingest(source).failed["endless"]
    assert isinstance(error, DocumentTimeoutError)
    assert (error.limit, error.value) == ("seconds", 0.01)
    assert "chunks so far" in str(error)
    assert "IngestLimits(seconds=…)" in str(error)


def test_the_time_of_a_source_ends_its_embedding(tmp_path: Path) -> None:
    class Slow(EmbeddingModel):
        name, dimensions, batch_texts = "slow", 2, 8

        def compute(self, texts: Sequence[str], purpose: str) -> list[list[float]]:
            time.sleep(0.05)
            return [[1.0, 0.0]] * len(texts)

    (tmp_path / "before.txt").write_text("The rent is 950 EUR.")
    (tmp_path / "long.txt").write_text("The rent is 950 EUR. " * 50_000)
    kept = VectorStore.create(VectorStoreConfig(embedding=Slow()))
    assert kept is not None
    began = time.monotonic()
    report = Library(kept, limits=IngestLimits(seconds=1)).ingest(tmp_path / "before.txt", tmp_path / "long.txt")
    assert time.monotonic() - began < 3
    assert [each.source for each in kept.sources()] == [str(tmp_path / "before.txt")]
    error = report.failed[str(tmp_path / "long.txt")]
    assert isinstance(error, DocumentTimeoutError)
    assert (error.limit, error.value) == ("seconds", 1)


def test_what_is_no_regular_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    failed = Library(store()).ingest(tmp_path / "pipe", "/dev/zero").failed
    assert [type(each) for each in failed.values()] == [UnreadableDocumentError] * 2
    assert "no regular file" in str(failed["/dev/zero"])


def test_limits_of_nothing_are_refused() -> None:
    for make in (lambda: IngestLimits(seconds=0), lambda: IngestLimits(text_bytes=0), lambda: TableLimits(rows=0)):
        with pytest.raises(ConfigurationError):
            make()
