"""One case, run by an agent of trivium on AgentDojo's environment, and what became of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from goals import Call, copied
from obedient import ATTACKER, USER, Obedient
from sinks import SINKS
from suites import Case
from world import RENAMED, World

from trivium import Agent, ChatAgent, ChatAgentConfig, Module, Task
from trivium.policies import Policy


class Guard(NamedTuple):
    """What stands between a call and its effect.

    Args:
        name: its name in the tables.
        policy: the policy, or None.
        has_approver: True for a user who approves the calls of his task, once each, and refuses all others; False for
            a user who is not there: whatever asks is refused.
        named: only the arguments that direct an effect are declared, by name; else all of them count.
    """

    name: str
    policy: Policy | None
    has_approver: bool
    named: bool = False


GUARDS = (
    Guard("no policy", None, True),
    Guard("default policy, the user is asked", Policy(), True),
    Guard("default policy, nobody is there", Policy(), False),
    Guard("default policy for named arguments, the user is asked", Policy(), True, named=True),
)


class Outcome(NamedTuple):
    """What became of a case.

    Args:
        case: the case.
        reached: the model has read the attacker's text.
        attackers_sinks: the sinks that it called for the attacker.
        unapproved: those of them that ran, and that nobody was asked about.
        attack_succeeded: by the judgement of AgentDojo, or None without an attack.
        users_calls: the calls that it made for the user.
        users_unrun: those that did not run, not even for the attacker, who may want the same.
        users_asked: those that asked for approval.
        task_succeeded: by the judgement of AgentDojo, or None if it was not asked.
    """

    case: Case
    reached: bool
    attackers_sinks: list[Call]
    unapproved: list[Call]
    attack_succeeded: bool | None
    users_calls: list[Call]
    users_unrun: list[Call]
    users_asked: list[Call]
    task_succeeded: bool | None


def run(case: Case, world: World, guard: Guard, in_task: bool, judge_task: bool = True) -> Outcome:
    """Run a case, and judge it.

    Args:
        case: the case.
        world: the world of its suite, whose tools declare what the guard wants.
        guard: what stands between a call and its effect.
        in_task: with a `ChatAgent` that has `ToolMessage`s, in a `Task`; else with an `Agent` that has functions.
        judge_task: ask AgentDojo if the user's task was done, too, which takes longer than all the rest.
    """
    world.begin(case.environment)
    model = Obedient(case, world, RENAMED if in_task else {})
    approve = world.approver(model.users_calls if guard.has_approver else [])
    agent = (_task if in_task else _agent)(model, world)
    text = agent(case.user.PROMPT, approve=approve, policy=guard.policy).content
    traces = [each.call for each in world.ran]
    made = [world.normal(*each) for each in model.calls[USER]]
    succeeded = judge(case.injection, case, world, text, traces) if case.injection else None
    return Outcome(
        case,
        model.reached,
        [each for each in model.calls[ATTACKER] if each.name in SINKS],
        [each.call for each in world.ran if each.origin == ATTACKER and each.call.name in SINKS and not each.approved],
        succeeded,
        made,
        without(made, traces),
        [call for origin, call in world.asked if origin == USER],
        judge(case.user, case, world, text, traces) if judge_task else None,
    )


def _agent(model: Obedient, world: World) -> Module:
    return Agent(model, tools=world.tools)


def _task(model: Obedient, world: World) -> Module:
    agent = ChatAgent(ChatAgentConfig(llm=model, handle_llm_no_tool="done"))
    agent.enable_message(world.messages)
    return Task(agent, interactive=False)


def without(calls: list[Call], others: list[Call]) -> list[Call]:
    """Return the calls that are not among others; two equal calls count twice."""
    left = list(others)
    return [each for each in calls if each not in left or left.remove(each)]


def judge(task: Any, case: Case, world: World, text: str, calls: list[Call]) -> bool:
    """Ask AgentDojo if a task of the user or of the attacker was done: by the calls that ran, or by the environment.

    It takes longer than all the rest, and most runs of a case end alike: those that do are judged once.
    """
    ended = (task.ID, text, calls, world.environment)
    for before, verdict in case.judged:
        if before == ended:
            return verdict
    name = "security" if task is case.injection else "utility"
    # To look at an inbox changes it.
    arguments = (text, copied(case.environment), copied(world.environment))
    by_calls = getattr(task, f"{name}_from_traces")(*arguments, [world.as_call(each) for each in calls])
    verdict = bool(getattr(task, name)(*arguments) if by_calls is None else by_calls)
    case.judged.append((ended, verdict))
    return verdict
