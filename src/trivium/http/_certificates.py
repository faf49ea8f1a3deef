"""The certificates by which servers are verified."""

from __future__ import annotations

import os
import ssl
import sys

from trivium.exceptions import ConfigurationError


def system_certificates() -> ssl.SSLContext:
    """Return a context that verifies by the file in `SSL_CERT_FILE`, the folder in `SSL_CERT_DIR`, or else the system.

    OpenSSL finds the certificates of Linux, but not those of macOS, and only a part of those of Windows.

    Raises:
        ConfigurationError: the file in `SSL_CERT_FILE` cannot be read, or holds no certificate.
    """
    if named := os.environ.get("SSL_CERT_FILE"):
        context = ssl.create_default_context()  # OpenSSL passes over a file that it cannot use
        try:
            context.load_verify_locations(named)
        except OSError as error:
            why = "holds no certificate" if isinstance(error, ssl.SSLError) else f"cannot be read ({error.strerror})"
            text = f"SSL_CERT_FILE names {named}, which {why}: name a PEM file of certificates, or unset it"
            raise ConfigurationError(text) from None
        return context
    paths = ssl.get_default_verify_paths()
    is_given = paths.capath not in (None, paths.openssl_capath)
    if is_given or sys.platform not in ("darwin", "win32"):
        return ssl.create_default_context()
    import truststore

    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
