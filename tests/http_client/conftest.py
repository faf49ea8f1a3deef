"""One suite for all clients: the tests of the modules named here run with each of them."""

from __future__ import annotations

import asyncio
import inspect

import pytest
import uvloop

import trivium.http

SUITES = ("test_client", "test_lives")
UVLOOP = "HTTPClient, uvloop"
"""The client on the event loop that servers such as uvicorn choose by themselves."""


@pytest.fixture(autouse=True)
def client_class(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the client that is tested in the place of `HTTPClient`."""
    if (name := getattr(request, "param", None)) is None:
        return
    for suite in SUITES:
        monkeypatch.setattr(f"{__package__}.{suite}.HTTPClient", getattr(trivium.http, name.partition(",")[0]))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.definition.path.stem in SUITES:
        loops = [UVLOOP] if metafunc.definition.path.stem == "test_client" else []
        metafunc.parametrize("client_class", ["HTTPClient", "HTTP2Client", *loops], indirect=True)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an async test; a plugin for that would look at each other test too."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = inspect.signature(pyfuncitem.obj).parameters
    with asyncio.Runner(loop_factory=uvloop.new_event_loop if "uvloop" in pyfuncitem.name else None) as runner:
        runner.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in arguments}))
    return True
