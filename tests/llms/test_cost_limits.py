"""Limits of what models cost, which processes share."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Generator, Iterator
from itertools import count
from pathlib import Path

import pytest

from journal._places import postgres_place
from tasks._redis import redis_server
from trivium import ChatAgent, Limits, StatusCode, Task
from trivium.exceptions import ConfigurationError, LimitExceededError, ModelError, RateLimitStoreError
from trivium.llms import CostLimiter, Delta, FallbackModel, OpenAIModel, Request
from trivium.schema import Usage

from ._spending import Cents

ROOT = Path(__file__).parents[2]
_numbers = count()


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    with redis_server(tmp_path_factory.mktemp("redis")) as path:
        yield f"unix://{path}"


@pytest.fixture(params=["SQLite", "Redis", "PostgreSQL"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store of its own."""
    number = next(_numbers)
    if request.param == "SQLite":
        return str(tmp_path / "costs.db")
    if request.param == "Redis":
        return f"{request.getfixturevalue('redis')}?db={number}"
    return postgres_place(request.getfixturevalue("server_url"), f"costs_{number}").name


def answers(limiter: CostLimiter, model: Cents) -> int:
    """How many answers there are until nothing is left."""
    limited, found = limiter.of(model), list[str]()

    def ask() -> None:
        while True:
            found.append(limited.chat("four"))

    with pytest.raises(LimitExceededError, match=r"limit of 0.05 usd; raise CostLimiter\(usd=…\)"):
        ask()
    return len(found)


class Dear(Cents):
    """An answer costs three cents, two more than expected."""

    def stream(self, request: Request) -> Iterator[Delta]:
        yield "a"
        yield Usage(3, 0)


class Broken(Cents):
    def stream(self, request: Request) -> Iterator[Delta]:
        raise ModelError("no answer")
        yield ""


def test_processes_spend_no_more_than_a_limit_together(place: str):
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT / 'tests'}"}
    command = [sys.executable, "-m", "llms._spending", place, "0.3"]
    pipe = subprocess.PIPE
    running = [subprocess.Popen(command, env=environment, text=True, stdin=pipe, stdout=pipe) for _ in range(3)]
    for each in running:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    assert sum(int(each.communicate("go\n", timeout=60)[0]) for each in running) == 30
    assert CostLimiter(0.3, store=place).spent() == pytest.approx(0.3)


def test_the_real_cost_takes_the_place_of_the_expected_one(place: str):
    for limiter in (CostLimiter(0.05), CostLimiter(0.05, "day", store=place)):
        assert answers(limiter, Dear()) == 2
        assert limiter.spent() == pytest.approx(0.06)
    assert CostLimiter(0.05, "day", store=place, name="another").spent() == 0
    assert CostLimiter(0.05, "month", store=place).spent() == 0


def test_the_error_names_the_limiter():
    limiter = CostLimiter(0.005, "day", name="ada")
    with pytest.raises(
        LimitExceededError, match=r"^the cost limiter 'ada' \(per day\) reached its limit of 0.005 usd; "
    ):
        limiter.of(Cents()).chat("four")


def test_what_failed_costs_nothing(place: str):
    for limiter in (CostLimiter(0.05), CostLimiter(0.05, store=place)):
        with pytest.raises(ModelError, match="no answer"):
            limiter.of(Broken()).chat("four")
        assert limiter.spent() == 0
        assert answers(limiter, Cents()) == 5


def test_a_task_says_that_the_limit_ended_it():
    result = Task(ChatAgent(CostLimiter(0.0001).of(Cents())), interactive=False).run("four")
    assert result is not None
    assert result.status is StatusCode.MAX_COST


def test_each_model_of_a_chain_has_a_price_or_none_is_asked():
    unknown = OpenAIModel("own", base_url="https://models.example/v1", api_key="key")
    chain = FallbackModel([Cents(), unknown])
    with pytest.raises(ConfigurationError, match=r"the price of own is not known, so its CostLimiter"):
        CostLimiter(1).of(chain).chat("four")
    with pytest.raises(ConfigurationError, match=r"the price of own is not known, so Limits\(usd=…\)"):
        ChatAgent(chain)("four", limits=Limits(usd=1))
    assert ChatAgent(chain)("four").content


def test_what_cannot_be_limited(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="above 0"):
        CostLimiter(0)
    with pytest.raises(ConfigurationError, match="per='day'"):
        CostLimiter(1, "week")  # type: ignore[arg-type] - that is the mistake
    with pytest.raises(ConfigurationError, match="does not name a file"):
        CostLimiter(1, store=":memory:")
    with pytest.raises(ConfigurationError, match="give it store="):
        pickle.dumps(CostLimiter(1))
    other = pickle.loads(pickle.dumps(CostLimiter(1, "day", store=tmp_path / "costs.db")))
    assert repr(other) == f"CostLimiter(1, 'day', store={str(tmp_path / 'costs.db')!r})"
    with pytest.raises(RateLimitStoreError):
        CostLimiter(1, store=tmp_path / "nowhere" / "costs.db").spent()
