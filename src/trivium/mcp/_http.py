"""The SDK's application for HTTP, behind our guard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server


def http_app(server: Server[Any], path: str, max_bytes: int) -> Any:
    """Return the application of a server, whose sessions belong to the users who began them: others find none (404).

    Args:
        server: the server.
        path: where it is served.
        max_bytes: the largest body of a request.
    """
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken
    from mcp.server.transport_security import TransportSecuritySettings

    # The guard before it looks at Host and Origin, and at the token.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app: Any = server.streamable_http_app(
        streamable_http_path=path, transport_security=security, max_request_body_size=max_bytes
    )

    async def of_user(scope: Any, receive: Any, send: Any) -> None:
        known = AccessToken(token="", client_id=scope.get("trivium.user", ""), scopes=[])
        scope["user"] = AuthenticatedUser(known)
        await app(scope, receive, send)

    return of_user
