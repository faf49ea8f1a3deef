"""The certificates by which servers are verified."""

from __future__ import annotations

import ssl
import sys


def system_certificates() -> ssl.SSLContext:
    """Return a context that verifies by the file in `SSL_CERT_FILE`, the folder in `SSL_CERT_DIR`, or else the system.

    OpenSSL finds the certificates of Linux, but not those of macOS, and only a part of those of Windows.
    """
    paths = ssl.get_default_verify_paths()
    is_given = bool({paths.cafile, paths.capath} - {None, paths.openssl_cafile, paths.openssl_capath})
    if is_given or sys.platform not in ("darwin", "win32"):
        return ssl.create_default_context()
    import truststore

    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
