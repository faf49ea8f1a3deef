"""The certificates by which servers are verified."""

from __future__ import annotations

import os
import ssl
import sys

__all__ = ["system_certificates"]


def system_certificates() -> ssl.SSLContext:
    """Return a context that verifies by the file in `SSL_CERT_FILE`, the folder in `SSL_CERT_DIR`, or else the system.

    OpenSSL finds the certificates of Linux, but not those of macOS, and only a part of those of Windows.
    """
    is_given = "SSL_CERT_FILE" in os.environ or "SSL_CERT_DIR" in os.environ
    if is_given or sys.platform not in ("darwin", "win32"):
        return ssl.create_default_context()
    import truststore

    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
