"""Batches in the processes of a real Ray cluster of two nodes on this machine."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from threading import Lock
from typing import Any

import psutil
import psycopg
import pytest

from journal._places import postgres_place
from policies._office import Outbox
from policies._paths import reader
from trivium import Agent, ChatAgent, ChatAgentConfig, Message, Module, StatusCode, Task
from trivium.commander import CallNode
from trivium.distributed import AgentRayActor
from trivium.exceptions import (
    ConfigurationError,
    DeadlineExceededError,
    RemoteConnectionError,
    RunKilledError,
    RunPausedError,
    WorkerLostError,
)
from trivium.journal import Journal
from trivium.language_models import MockLMConfig
from trivium.policies import Policy
from trivium.tasks import ExceptionHandling, run_batch_task_gen_async, run_batch_tasks, run_batch_tasks_async
from trivium.testing import ScriptedModel
from workers._effects import broken_promises
from workers._programs import prepare

from ._cluster import cluster_of_two
from ._office import Unsendable, buyer, deadly, limited, office, priced, sender, shouter, stumbling, text_of, waiter
from .test_serving_process import until

pytestmark = pytest.mark.slow


def status_of(result: Message | None) -> object:
    return result and result.status


@pytest.fixture(scope="module")
def cluster() -> Generator[Any]:
    with cluster_of_two() as made:
        yield made


@pytest.fixture
def url(server_url: str, request: pytest.FixtureRequest) -> str:
    made = postgres_place(server_url, f"ray_{request.node.name[:40].lower()}").name
    prepare(made)
    return made


def test_items_run_on_both_nodes_and_come_in_their_order(cluster: Any):
    nodes = [each.all_processes["raylet"][0].process.pid for each in (cluster.head_node, *cluster.worker_nodes)]
    for letters in ("abcd", "efgh"):  # Ray puts by chance where it is not told
        found = run_batch_tasks(shouter(), [*letters], output_map=text_of, sequential=False, on="ray")
        assert [each.split()[0] for each in found] == [*letters.upper()]
        processes = {each.split()[1] for each in found}
        assert len(processes) == 2
        assert str(os.getpid()) not in processes
        assert {int(each.split()[2]) for each in found} == {*nodes}


def test_what_a_run_has_read_and_its_policy_hold_in_a_batch_within_it(cluster: Any):
    class Handing(Module):
        def forward(self, message: Message) -> list[str]:
            reader(Outbox())(message)
            return run_batch_tasks(sender(), ["Go on."], output_map=text_of, on="ray")

    assert Handing()("Read.").content == ["sent eve@evil.org"]
    (said,) = Handing()("Read.", policy=Policy()).content
    assert "not approved: send_mail" in said
    assert "read_mail" in said


def test_a_failing_item_is_treated_as_here(cluster: Any):
    wanted = ExceptionHandling.RETURN_EXCEPTION
    good, bad = run_batch_tasks(shouter(), ["a", "fail"], on="ray", handle_exceptions=wanted)
    assert text_of(good).startswith("A ")
    assert (type(bad), str(bad)) == (ValueError, "as you wished")
    with pytest.raises(ValueError, match="as you wished") as raised:
        run_batch_tasks(shouter(), ["fail"], on="ray")
    assert raised.value.__notes__[0] == "this was item 0 of the batch"


def test_a_batch_that_is_done_repeats_nothing(cluster: Any, url: str):
    journal, asked = Journal(url), [str(number) for number in range(6)]
    first = run_batch_tasks(office(url, 0.0), asked, sequential=False, on="ray", run_id="all", journal=journal)
    again = run_batch_tasks(office(url, 0.0), asked, on="ray", run_id="all", journal=journal)
    assert [text_of(each) for each in again] == [text_of(each) for each in first]
    run_ids = [f"all-{each}" for each in asked]
    assert broken_promises(url, journal, run_ids) == []
    assert sorted(each.id for each in journal.runs()) == run_ids
    assert text_of(run_batch_tasks(office(url, 0.0), asked[:1], run_id="all", journal=journal)[0]) == text_of(first[0])
    journal.close()


def test_a_batch_goes_on_where_a_process_is_killed(cluster: Any, url: str):
    """`make bench-queues` kills a node."""
    journal = Journal(url)
    journal.runs()  # which makes the tables

    def kill() -> None:
        query = "SELECT split_part(owner, ':', 1)::int FROM trivium_run WHERE status = 'running' LIMIT 1"
        with psycopg.connect(url, autocommit=True) as database:
            while (found := database.execute(query).fetchone()) is None:
                time.sleep(0.01)
        os.kill(found[0], signal.SIGKILL)

    with ThreadPoolExecutor() as pool:
        killed = pool.submit(kill)
        found = run_batch_tasks(office(url, 0.5), range(20), sequential=False, on="ray", run_id="all", journal=journal)
        killed.result()
    assert len(found) == 20
    assert broken_promises(url, journal, [f"all-{number}" for number in range(20)]) == []
    assert any(each.epoch > 1 for each in journal.runs())
    journal.close()


def test_an_item_that_is_the_end_of_its_processes_fails_after_some_attempts(cluster: Any, url: str):
    journal, wanted = Journal(url), ExceptionHandling.RETURN_EXCEPTION
    begun = get_context("spawn").Process(
        target=run_batch_tasks, args=(deadly(), ["die"]), kwargs={"run_id": "all", "journal": journal}
    )
    begun.start()
    begun.join(60)
    assert begun.exitcode == -signal.SIGKILL
    with psycopg.connect(url, autocommit=True) as database:
        database.execute("UPDATE trivium_run SET epoch = epoch + 10")  # as if it had been begun so often
    lost, done = run_batch_tasks(
        deadly(), ["die", "live"], on="ray", run_id="all", journal=journal, handle_exceptions=wanted, timeout=60
    )
    assert isinstance(lost, WorkerLostError)
    assert (lost.run_id, status_of(done)) == ("all-0", StatusCode.DONE)
    assert journal.info("all-0").why.startswith("WorkerLostError: ")
    journal.close()


def test_an_item_of_no_run_fails_where_its_process_is_killed(cluster: Any, tmp_path: Path):
    def kill() -> None:
        until(lambda: len([*tmp_path.iterdir()]) == 2)  # both have begun
        os.kill(int(next(tmp_path.iterdir()).name), signal.SIGKILL)
        (tmp_path / "go").touch()

    wanted = ExceptionHandling.RETURN_EXCEPTION
    with ThreadPoolExecutor() as pool:
        pool.submit(kill)
        found = run_batch_tasks(
            waiter(tmp_path), "abc", batch_size=2, sequential=False, on="ray", handle_exceptions=wanted
        )
    (lost,) = [each for each in found if isinstance(each, Exception)]
    assert isinstance(lost, RemoteConnectionError)
    assert "with run_id= and journal= it goes on elsewhere" in str(lost)


def test_a_batch_that_is_stopped_leaves_no_process(cluster: Any, tmp_path: Path):
    def kill(node: CallNode) -> None:
        until(lambda: len([*tmp_path.iterdir()]) == 2)
        node.kill("nobody needs it")

    def ask() -> None:
        with CallNode("outer", None) as node:
            pool.submit(kill, node)
            run_batch_tasks(waiter(tmp_path), "ab", sequential=False, on="ray")

    with ThreadPoolExecutor() as pool, pytest.raises(RunKilledError):
        ask()
    until(lambda: not any(psutil.pid_exists(int(each.name)) for each in tmp_path.iterdir()))


def test_an_approval_is_given_later(cluster: Any, url: str):
    journal, returned = Journal(url), ExceptionHandling.RETURN_EXCEPTION
    ask = partial(
        run_batch_tasks, buyer(), ["Buy."], on="ray", run_id="all", journal=journal, handle_exceptions=returned
    )
    assert [type(each) for each in ask()] == [RunPausedError]
    [waiting] = journal.pending("all-0")
    journal.approve("all-0", waiting.digest, by="ada")
    assert [text_of(each) for each in ask()] == ["It is bought."]
    journal.close()


def test_what_items_have_spent_counts_for_all_together(cluster: Any):
    with CallNode("outer", None) as node:
        found = run_batch_tasks(priced(), "abcd", on="ray", max_tokens=25, shared_limits=True, output_map=status_of)
    assert found == [StatusCode.DONE, StatusCode.DONE, StatusCode.MAX_TOKENS, StatusCode.MAX_TOKENS]
    assert node.spent is not None
    assert node.spent.total == 30


def test_limiters_count_across_the_cluster(cluster: Any, url: str):
    with pytest.raises(ConfigurationError, match="give it store="):
        run_batch_tasks(limited(None), "ab", on="ray")
    assert len(run_batch_tasks(limited(url), "abcd", sequential=False, on="ray")) == 4
    with pytest.raises(DeadlineExceededError):  # four a minute
        run_batch_tasks(limited(url), "e", timeout=0.1)


def test_a_batch_within_a_run_is_recorded_there(cluster: Any, url: str):
    journal = Journal(url)

    def ask() -> list[str]:
        with journal.run("outer"):
            return run_batch_tasks(office(url, 0.0), ["a", "b"], output_map=text_of, on="ray")

    assert ask() == ask()
    assert {each.status for each in journal.runs()} == {"done"}
    assert len(journal.runs()) == 3
    assert broken_promises(url, journal, [each.id for each in journal.runs() if each.id != "outer"]) == []
    journal.close()


def test_an_actor_within_a_run_goes_on_where_it_was(cluster: Any, url: str, tmp_path: Path):
    """The process of the first one ends when its agent has paid and noted."""
    journal = Journal(url)

    def ask() -> str:
        with AgentRayActor(partial(stumbling, url, tmp_path / "stumbled"), name="clerk") as actor:
            return actor("Go.", run_id="outer", journal=journal).content

    with pytest.raises(RemoteConnectionError):
        ask()
    assert ask() == ask() == "done"
    (inner,) = [each.id for each in journal.runs() if each.id != "outer"]
    assert inner.startswith("outer/")
    assert broken_promises(url, journal, [inner]) == []
    assert journal.info(inner).epoch == 2
    journal.close()


def test_the_same_from_async_code_with_tasks_of_their_own(cluster: Any):
    def make(number: int) -> Task:
        return shouter(ScriptedModel([f"DONE {number}"]))

    async def main() -> tuple[list[str], list[str]]:
        one = run_batch_tasks_async(shouter(), "ab", output_map=text_of, on="ray")
        other = run_batch_task_gen_async(make, "ab", output_map=text_of, on="ray")
        return await one, await other

    shouted, made = asyncio.run(main())
    assert [each[0] for each in shouted] == ["A", "B"]
    assert made == ["0", "1"]


def test_what_cannot_be_sent_is_told(cluster: Any):
    told = r"cannot be sent to Ray: TypeError: cannot pickle .* \(config\.llm\.lock of ChatAgent 'shouter'\): give"
    with pytest.raises(ConfigurationError, match=told):
        run_batch_tasks(shouter(Unsendable()), "a", on="ray")
    lock, told = Lock(), "the agent's function cannot be sent to Ray: TypeError: cannot pickle"
    with pytest.raises(ConfigurationError, match=told):
        AgentRayActor(lambda: Agent(ScriptedModel([str(lock)])))


def test_models_of_configs_are_sent(cluster: Any):
    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(response_fn=lambda text: f"DONE {text.upper()}")))
    task = Task(agent, interactive=False)
    assert run_batch_tasks(task, ["a", "b"], output_map=text_of, sequential=False, on="ray") == ["A", "B"]
