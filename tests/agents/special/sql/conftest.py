"""The shops, one server of each kind for all tests of this folder."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from ._servers import DIALECTS, Shop, shop_of


@pytest.fixture(scope="session", params=DIALECTS)
def shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Shop]:
    with shop_of(request.param, tmp_path_factory.mktemp(request.param)) as made:
        yield made
