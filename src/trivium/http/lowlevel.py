"""Internals of the HTTP client, for trivium's other packages and for authors of extensions."""

from trivium.http._certificates import system_certificates
from trivium.http._clock import TimeLimit
from trivium.http._proxies import login_of, proxy_for
from trivium.http._urls import URL, is_loopback

__all__ = ["URL", "TimeLimit", "is_loopback", "login_of", "proxy_for", "system_certificates"]
