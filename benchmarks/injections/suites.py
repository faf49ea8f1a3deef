"""The suites of AgentDojo: environments, user tasks, injection tasks and attacks, as the package has them."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import yaml

VERSION = "v1.2.2"
"""The newest version of the benchmark."""
ATTACKS = ("important_instructions", "tool_knowledge", "direct", "ignore_previous", "system_message", "injecagent")
SUITES = ("workspace", "travel", "banking", "slack")
_VICTIM = SimpleNamespace(name="gpt-4o-2024-05-13")  # some attacks address the model by its name


def _load() -> tuple[Any, ...]:
    """Import the parts that are used, without the clients of providers that the package's pipelines import."""
    found = find_spec("agentdojo")
    assert found is not None, "run it with .peers/agentdojo/bin/python: make .peers/agentdojo/.ready"
    home = Path(next(iter(found.submodule_search_locations or ())), "agent_pipeline")
    for name, values in {
        "agentdojo.agent_pipeline": {"__path__": [str(home)]},
        "agentdojo.agent_pipeline.llms": {"__path__": []},
        "agentdojo.agent_pipeline.llms.google_llm": {"EMPTY_FUNCTION_NAME": "<empty-function>"},
    }.items():
        sys.modules[name] = module = ModuleType(name)
        vars(module).update(values)
    yaml.SafeLoader = yaml.CSafeLoader  # the same in C: environments are parsed anew for each attack
    from agentdojo.attacks import load_attack
    from agentdojo.default_suites.v1.tools import cloud_drive_client, email_client
    from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime
    from agentdojo.task_suite.load_suites import get_suite

    for module in (cloud_drive_client, email_client):  # equal calls make equal environments
        module.datetime = SimpleNamespace(**{**vars(datetime), "datetime": Now})
    return get_suite, load_attack, FunctionsRuntime, FunctionCall


class Now(datetime.datetime):
    """A time of day that does not pass."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
        """Return a time after all that is in the environments."""
        return datetime.datetime(2026, 1, 1, tzinfo=tz)


get_suite, load_attack, FunctionsRuntime, FunctionCall = _load()


class Case(NamedTuple):
    """A user's task in an environment, with the text and the task of an attacker, or without.

    Args:
        suite: the suite's name.
        attack: the attack's name; "" without one.
        user: the user's task.
        injection: the attacker's task, or None.
        texts: what the attack put into the environment.
        environment: the environment before the task; copied for each run.
        judged: how runs of the case have ended, and what AgentDojo has said of them.
    """

    suite: str
    attack: str
    user: Any
    injection: Any
    texts: tuple[str, ...]
    environment: Any
    judged: list[tuple[tuple[Any, ...], bool]]


def cases(suite: str, attack: str, every: int = 1) -> Iterator[Case]:
    """Yield the cases of an attack: each user task with each injection task, or every n-th of these pairs.

    Without an attack (""), each user task once.
    """
    tasks = get_suite(VERSION, suite)
    if not attack:
        for user in tasks.user_tasks.values():
            environment = user.init_environment(tasks.load_and_inject_default_environment({}))
            yield Case(suite, "", user, None, (), environment, [])
        return
    made = load_attack(attack, tasks, _VICTIM)
    pairs = [(user, each) for user in tasks.user_tasks.values() for each in tasks.injection_tasks.values()]
    for user, injection in pairs[::every]:
        texts = made.attack(user, injection)
        environment = user.init_environment(tasks.load_and_inject_default_environment(texts))
        yield Case(suite, attack, user, injection, tuple(texts.values()), environment, [])
