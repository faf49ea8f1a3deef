"""The HTTP transport to model servers: connections, keys, retries, and redaction of secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.llms.http._keys import Keys, bearer
    from trivium.llms.http._policy import RetryPolicy, back_off
    from trivium.llms.http._retry_after import seconds_to_wait
    from trivium.llms.http._secrets import HIDDEN, is_secret, redact, redact_url, secrets_of
    from trivium.llms.http._transport import Transport, with_path

__all__ = [
    "HIDDEN",
    "Keys",
    "RetryPolicy",
    "Transport",
    "back_off",
    "bearer",
    "is_secret",
    "redact",
    "redact_url",
    "seconds_to_wait",
    "secrets_of",
    "with_path",
]

_HOMES = {
    "HIDDEN": "_secrets",
    "Keys": "_keys",
    "RetryPolicy": "_policy",
    "Transport": "_transport",
    "back_off": "_policy",
    "bearer": "_keys",
    "is_secret": "_secrets",
    "redact": "_secrets",
    "redact_url": "_secrets",
    "seconds_to_wait": "_retry_after",
    "secrets_of": "_secrets",
    "with_path": "_transport",
}
lazy_names(__name__, _HOMES, __all__)
