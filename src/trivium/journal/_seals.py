"""Seals: links of records that need a secret to make, and decisions that people sign."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from hashlib import blake2b, sha256
from typing import Final, NamedTuple

from trivium.exceptions import ConfigurationError, MissingExtraError
from trivium.journal._store import Entry

_SHORTEST: Final = 16
_KEY_BYTES: Final = 32


class Decided(NamedTuple):
    """The decision of a user on a call.

    Args:
        approved: whether the call runs.
        by: who decided.
        reason: why it does not run; the model reads it.
        until: the time, in seconds since the epoch, until which the decision may be used; None: no limit.
        signature: the signature of who decided, in hexadecimal; see `signed`.

    Example:
        >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        >>> secret = Ed25519PrivateKey.generate().private_bytes_raw()
        >>> len(Decided(True, "ada").signed("order-17", "4f1e…", secret).signature)
        128
    """

    approved: bool
    by: str
    reason: str = ""
    until: float | None = None
    signature: str = ""

    def signed(self, run_id: str, digest: str, key: bytes) -> Decided:
        """Return it with a signature, which holds for one call of one run.

        Args:
            run_id: the run.
            digest: the digest of the call, as `Journal.pending` shows it.
            key: the private Ed25519 key of who decides, 32 bytes.

        Raises:
            ConfigurationError: it is no such key.
            MissingExtraError: the extra `signatures` is missing.
        """
        try:
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        except ImportError:
            raise MissingExtraError("cryptography", "signatures") from None
        _check_key(key)
        made = Ed25519PrivateKey.from_private_bytes(key).sign(self._said(run_id, digest))
        return self._replace(signature=made.hex())

    def is_signed(self, run_id: str, digest: str, key: bytes) -> bool:
        """Return whether the signature is that of a public Ed25519 key, for this call of this run.

        Raises:
            ConfigurationError: it is no such key.
            MissingExtraError: the extra `signatures` is missing.
        """
        try:
            from cryptography.exceptions import InvalidSignature
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        except ImportError:
            raise MissingExtraError("cryptography", "signatures") from None
        _check_key(key)
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(bytes.fromhex(self.signature), self._said(run_id, digest))
        except (InvalidSignature, ValueError):
            return False
        return True

    def _said(self, run_id: str, digest: str) -> bytes:
        return json.dumps(["trivium decision", run_id, digest, *self[:-1]]).encode()


def _check_key(key: bytes) -> None:
    if not isinstance(key, bytes) or len(key) != _KEY_BYTES:  # type: ignore[unnecessary] - users pass anything
        raise ConfigurationError(f"an Ed25519 key is {_KEY_BYTES} bytes, as `private_bytes_raw()` gives them")


def digest_of_call(digest: str, node: str) -> str:
    """Return what stands for a call that waits, also beside an equal one.

    Args:
        digest: the digest of what was asked.
        node: the key of its node.
    """
    return sha256(f"{digest}/{node}".encode()).hexdigest()[:32]


class Seal:
    """What a journal trusts: records that were linked with its key, and decisions of its approvers.

    Args:
        key: the secret with which records are linked, 16 bytes or more; "": none, and only damage is noticed.
        approvers: the public Ed25519 keys of those whose decisions count, by their names; None: everybody's do.

    Raises:
        ConfigurationError: the key is too short, or that of an approver is none.
    """

    def __init__(self, key: str | bytes = "", approvers: Mapping[str, bytes] | None = None) -> None:
        secret = key.encode() if isinstance(key, str) else key
        if secret and len(secret) < _SHORTEST:
            raise ConfigurationError(
                f"the key of a journal has {_SHORTEST} bytes or more: take that of secrets.token_hex(), and keep it"
            )
        self._key = blake2b(secret, digest_size=32, person=b"trivium journal").digest() if secret else b""
        self.approvers = None if approvers is None else dict(approvers)
        for each in (approvers or {}).values():
            _check_key(each)

    def key_of(self, run_id: str) -> bytes:
        """Return the key with which the records of a run are linked; each run has its own."""
        return blake2b(run_id.encode("utf-8", "replace"), key=self._key, digest_size=32).digest() if self._key else b""

    def flaw_of(self, run_id: str, digest: str, decided: Decided) -> str:
        """Return why a decision on a call does not count, or does not any more; "": it does."""
        if decided.until is not None and time.time() > decided.until:
            return f"the decision of {decided.by} came too late"
        return self.doubt_of(run_id, digest, decided)

    def doubt_of(self, run_id: str, digest: str, decided: Decided) -> str:
        """Return why a decision on a call is not that of an approver; "": it is."""
        if self.approvers is None:
            return ""
        key = self.approvers.get(decided.by)
        if key is None:
            return f"{decided.by} is none of the approvers of this journal"
        return "" if decided.is_signed(run_id, digest, key) else f"the decision is not signed by {decided.by}"

    def link(self, run_id: str, entries: list[Entry], last: Entry | None) -> list[Entry]:
        """Return records with their numbers and links, after the last one of a run."""
        key, linked = self.key_of(run_id), list[Entry]()
        for entry in entries:
            number, before = (0, "") if last is None else (last.seq, last.link)
            last = entry._replace(seq=number + 1).linked(before, key)
            linked.append(last)
        return linked
