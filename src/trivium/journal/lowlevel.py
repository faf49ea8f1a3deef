"""Parts of the journal for trivium's own packages; each name is imported when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.journal._approvals import decided_in
    from trivium.journal._codec import Codec, digest_of
    from trivium.journal._fingerprints import fingerprint_chain
    from trivium.journal._forms import json_or_text
    from trivium.journal._held_back import ATTEMPTS, hold_back
    from trivium.journal._journal import attempt_of, queue_of
    from trivium.journal._places import file_at, is_there
    from trivium.journal._postgres import PostgresRunStore
    from trivium.journal._postgres_connections import PostgresConnections, postgres_parameters, postgres_place
    from trivium.journal._queue import APPLICATION, RECORDS, RUN, SCHEDULED, RunQueue, check_queue, quiet_log, whole
    from trivium.journal._reads import recorded_read
    from trivium.journal._seals import digest_of_call
    from trivium.journal._served import ADVISORY_LOCKS, FORGET_SERVED, IS_CLAIMED, has_server, server_lock
    from trivium.journal._sqlite import SQLiteRunStore
    from trivium.journal._store import Appending, Store, Writing

__all__ = [
    "ADVISORY_LOCKS",
    "APPLICATION",
    "ATTEMPTS",
    "FORGET_SERVED",
    "IS_CLAIMED",
    "RECORDS",
    "RUN",
    "SCHEDULED",
    "Appending",
    "Codec",
    "PostgresConnections",
    "PostgresRunStore",
    "RunQueue",
    "SQLiteRunStore",
    "Store",
    "Writing",
    "attempt_of",
    "check_queue",
    "decided_in",
    "digest_of",
    "digest_of_call",
    "file_at",
    "fingerprint_chain",
    "has_server",
    "hold_back",
    "is_there",
    "json_or_text",
    "postgres_parameters",
    "postgres_place",
    "queue_of",
    "quiet_log",
    "recorded_read",
    "server_lock",
    "whole",
]

_HOMES = {
    "APPLICATION": "_queue",
    "ATTEMPTS": "_held_back",
    "ADVISORY_LOCKS": "_served",
    "FORGET_SERVED": "_served",
    "IS_CLAIMED": "_served",
    "has_server": "_served",
    "server_lock": "_served",
    "hold_back": "_held_back",
    "RECORDS": "_queue",
    "RUN": "_queue",
    "SCHEDULED": "_queue",
    "whole": "_queue",
    "RunQueue": "_queue",
    "fingerprint_chain": "_fingerprints",
    "postgres_parameters": "_postgres_connections",
    "postgres_place": "_postgres_connections",
    "queue_of": "_journal",
    "quiet_log": "_queue",
    "Appending": "_store",
    "Codec": "_codec",
    "PostgresConnections": "_postgres_connections",
    "PostgresRunStore": "_postgres",
    "SQLiteRunStore": "_sqlite",
    "Store": "_store",
    "Writing": "_store",
    "attempt_of": "_journal",
    "check_queue": "_queue",
    "decided_in": "_approvals",
    "digest_of": "_codec",
    "file_at": "_places",
    "is_there": "_places",
    "json_or_text": "_forms",
    "digest_of_call": "_seals",
    "recorded_read": "_reads",
}
lazy_names(__name__, _HOMES, __all__, below="trivium.journal")
