from __future__ import annotations

from collections.abc import Iterator

import pytest

from ._sites import Site


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as made:
        yield made
