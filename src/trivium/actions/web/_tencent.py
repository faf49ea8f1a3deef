"""Tencent Cloud's search, with its signed requests."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from trivium.actions.web._remote import (
    Remote,
    UnreadableError,
    find_array,
    find_key,
    find_object,
    find_text,
    parse_object,
)
from trivium.actions.web._searchers import BLACK_LIST, BaseSearch, SearchResult
from trivium.commander import driver_neutral
from trivium.schema.lowlevel import checked

_JSON = "application/json; charset=utf-8"


class TencentSearch(BaseSearch):
    """Searches with Tencent Cloud's SearchPro; it needs the keys `TENCENT_SECRET_ID` and `TENCENT_SECRET_KEY`.

    Requests are signed by TC3-HMAC-SHA256; the secret key is never sent.

    Args:
        secret_id: default: `$TENCENT_SECRET_ID`.
        secret_key: default: `$TENCENT_SECRET_KEY`.
        api_key: the token of temporary keys.
        action: the interface.
        version: the version of the interface.
        service: the service in the signature.
        topk: the number of results.
        insite: the only site to search, for example `zhihu.com`.
        black_list: domains that are excluded.
        timeout: the limit of one search, in seconds.
        base_url: the address of the service.
        **parameters: more fields of the interface, such as `Mode=2` or `Industry="news"`.

    Raises:
        ConfigurationError: there is no key.

    Example::

        asyncio.run(TencentSearch("AKID…", "…").search("trivium"))
    """

    @checked
    def __init__(
        self,
        secret_id: str | None = None,
        secret_key: str | None = None,
        api_key: str = "",
        action: str = "SearchPro",
        version: str = "2025-05-08",
        service: str = "wsa",
        topk: int = 3,
        insite: str | None = None,
        black_list: Sequence[str] | None = BLACK_LIST,
        *,
        timeout: float = 30.0,
        base_url: str = "https://wsa.tencentcloudapi.com",
        **parameters: Any,
    ) -> None:
        super().__init__(topk, black_list)
        self._id = find_key("TENCENT_SECRET_ID", secret_id, "secret_id")
        self._key = find_key("TENCENT_SECRET_KEY", secret_key, "secret_key")
        self.action, self.service = action, service
        self.parameters = {**({"Site": insite} if insite else {}), **parameters}
        headers = {"X-TC-Action": action, "X-TC-Version": version}
        if api_key:
            headers["X-TC-Token"] = api_key
        secrets = tuple(filter(None, (self._key, api_key)))
        self._remote = Remote("Tencent SearchPro", base_url, timeout=timeout, headers=headers, secrets=secrets)

    @driver_neutral
    async def find(self, query: str, count: int) -> Sequence[SearchResult]:
        """Query the engine."""
        payload = json.dumps({"Query": query, **self.parameters}).encode()
        now = int(time.time())
        signed = sign(self._id, self._key, self.service, self._remote.host, self.action, payload, now)
        headers = {"authorization": signed, "content-type": _JSON, "X-TC-Timestamp": str(now)}
        return await self._remote.request(read_tencent, "/", content=payload, headers=headers)


def sign(secret_id: str, secret_key: str, service: str, host: str, action: str, payload: bytes, timestamp: int) -> str:
    """Make the `Authorization` header of a POST to Tencent Cloud, signed by TC3-HMAC-SHA256."""
    date = datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%d")
    scope, names = f"{date}/{service}/tc3_request", "content-type;host;x-tc-action"
    headers = f"content-type:{_JSON}\nhost:{host}\nx-tc-action:{action.lower()}\n"
    request = "\n".join(("POST", "/", "", headers, names, hashlib.sha256(payload).hexdigest()))
    to_sign = "\n".join(("TC3-HMAC-SHA256", str(timestamp), scope, hashlib.sha256(request.encode()).hexdigest()))
    key = f"TC3{secret_key}".encode()
    for part in (*scope.split("/"), to_sign):
        key = hmac.digest(key, part.encode(), "sha256")
    return f"TC3-HMAC-SHA256 Credential={secret_id}/{scope}, SignedHeaders={names}, Signature={key.hex()}"


def read_tencent(text: str) -> list[SearchResult]:
    """Read the results: each page is JSON in a text; an older interface puts it below `Display`."""
    answer = find_object(parse_object(text), "Response")
    code = find_text(answer, "Error", "Code")
    if code:
        raise UnreadableError(f"refused ({code}): {find_text(answer, 'Error', 'Message')}; {_advice(code)}")
    pages = find_array(answer, "Pages")
    return [read_tencent_page(page) for page in pages]


def read_tencent_page(page: object) -> SearchResult:
    """Read one result."""
    display = parse_object(page if isinstance(page, str) else find_text(page, "Display"))
    texts = (find_text(display, key) for key in ("content", "passage", "abstract_info"))
    return SearchResult(find_text(display, "url"), find_text(display, "title"), next(filter(None, texts), ""))


def _advice(code: str) -> str:
    if code.startswith(("AuthFailure", "UnauthorizedOperation")):
        return "check TENCENT_SECRET_ID and TENCENT_SECRET_KEY, their permissions, and this machine's clock"
    return "wait, or send fewer requests" if "Limit" in code else "change the query or its options"
