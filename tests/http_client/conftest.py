"""One suite for all clients: the tests of the modules named here run with each of them."""

from __future__ import annotations

import asyncio
import inspect

import pytest

import trivium.http

SUITES = ("test_client", "test_lives")


@pytest.fixture(autouse=True)
def client_class(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the client that is tested in the place of `HTTPClient`."""
    if (name := getattr(request, "param", None)) is None:
        return
    for suite in SUITES:
        monkeypatch.setattr(f"{__package__}.{suite}.HTTPClient", getattr(trivium.http, name))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.definition.path.stem in SUITES:
        metafunc.parametrize("client_class", ["HTTPClient", "HTTP2Client"], indirect=True)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an async test; a plugin for that would look at each other test too."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in arguments}))
    return True
