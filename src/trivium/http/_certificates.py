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
        ConfigurationError: the file in `SSL_CERT_FILE` cannot be read, or is no PEM file of certificates.
    """
    if named := os.environ.get("SSL_CERT_FILE"):
        folder = os.environ.get("SSL_CERT_DIR", ssl.get_default_verify_paths().openssl_capath)
        try:  # a context of the defaults would pass over a file that it cannot use
            context = ssl.create_default_context(cafile=named, capath=folder or None)
        except ssl.SSLError as error:
            why = f"cannot be read as PEM certificates ({error.reason or error})"
        except OSError as error:
            why = f"cannot be read ({error.strerror})"
        else:
            if sys.platform == "win32":
                context.load_default_certs()  # its own, as those in the folder elsewhere
            return context
        text = f"SSL_CERT_FILE names {named}, which {why}: name a PEM file of certificates, or unset it"
        raise ConfigurationError(text)
    paths = ssl.get_default_verify_paths()
    is_given = paths.capath not in (None, paths.openssl_capath)
    if is_given or sys.platform not in ("darwin", "win32"):
        return ssl.create_default_context()
    import truststore

    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
