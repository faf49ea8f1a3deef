"""Many new documents: searched by their words at once, and by their meaning when their vectors are there."""

from __future__ import annotations

from trivium.agents.special import DocChatAgent
from trivium.cli._knowledge import Places, ingest_places
from trivium.cli._screen import write_line
from trivium.cli._sources import ReadOptions
from trivium.knowledge import SQLiteStoreConfig

ENOUGH = 256
"""The passages whose vectors are computed before the answer; they take a few seconds."""
AT_ONCE = 1600
"""The most characters of documents that are read for an answer before there are vectors: a model takes seconds to read
them, and somebody waits. Of 59 questions of `benchmarks/knowledge` that serve to choose settings, the answer is in them
for 32; for 33 in 1,700 to 2,400, and for 29 in 1,500."""


def may_be_late(store: SQLiteStoreConfig, places: Places, is_own: bool) -> bool:
    """Test whether the vectors of documents can follow after the answer: in a file of the cache."""
    return is_own and store.embedding is not None and store.storage_path != ":memory:" and not places.stdin


def late_chunks(words: DocChatAgent, agent: DocChatAgent) -> int:
    """Return the number of passages of which an agent's store has no vectors yet.

    Args:
        words: an agent that has read all documents into a store without vectors.
        agent: the agent whose store has vectors.
    """
    known = {record.source: record.fingerprint for record in agent.sources()}
    records = words.sources()
    return sum(record.chunks for record in records if known.get(record.source) != record.fingerprint)


def add_vectors(agent: DocChatAgent, places: Places, chunks: int, reading: ReadOptions) -> None:
    """Compute the vectors that an answer did not wait for, with the time that is left; Ctrl-C leaves.

    Args:
        agent: the agent whose store gets them.
        places: the documents.
        chunks: the number of passages without vectors.
        reading: how they are read.
    """
    try:
        write_line(
            f"searched by words alone; the vectors of {chunks:,} passages are computed now, for the next questions "
            "(Ctrl-C leaves: complete documents are kept)"
        )
        ingest_places(agent, places, reading, is_own=True, chunks=chunks, quiet=True)
    except KeyboardInterrupt:
        write_line("the next question goes on with the rest")
