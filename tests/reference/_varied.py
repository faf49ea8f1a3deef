"""Programs that vary the examples of Langroid's documents: each says what happened, on trivium and on Langroid.

    .peers/langroid/bin/python tests/reference/_varied.py

asks Langroid, and writes what it says into `varied.json`; `differs` and `why` there are written by hand. Nothing of
trivium is imported here: a package is given as a module.
"""

# The programs are as users write them, and a package is a module: few types are known here.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import asyncio
import builtins
import json
import logging
import os
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

TABLE = Path(__file__).with_name("varied.json")
VOCABULARY = "lib/python*/site-packages/llama_index/core/_static/tiktoken_cache"
Program: TypeAlias = Callable[["Run"], Any]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    """Enter a program, under the name of its function."""
    PROGRAMS[function.__name__] = function
    return function


class Run:
    """A run of a program on a package, with the tools that programs share."""

    def __init__(self, lr: Any) -> None:
        self.lr, self.log = lr, list[str]()
        self.tools: Any = import_module(f"{lr.__name__}.agent.tools.orchestration")
        self.base: Any = import_module(f"{lr.__name__}.language_models.base")
        self.mock: Any = import_module(f"{lr.__name__}.language_models.mock_lm")
        self.batch: Any = import_module(f"{lr.__name__}.agent.batch")

        class Square(lr.ToolMessage):
            request: str = "square"
            purpose: str = "To square a <number>."
            number: int

            def handle(self) -> str:
                return str(self.number**2)

        self.Square: Any = Square

    def say(self, *values: Any) -> None:
        self.log.append(" ".join(str(self.plain(each)) for each in values))

    def plain(self, value: Any) -> Any:
        if isinstance(value, self.lr.ChatDocument):
            status = value.metadata.status
            return value.content if status is None else f"{value.content} [{status.value}]"
        if isinstance(value, list | tuple):
            return [self.plain(each) for each in value]
        return value

    def agent(self, *answers: Any, kind: Any = None, name: str = "Ada", **config: Any) -> Any:
        """An agent whose model says these in turn, or what a function of the text gives."""
        left = list(answers)

        def answer(text: str) -> str:
            found = left[0](text) if callable(left[0]) else left.pop(0) if left else ""
            return found if isinstance(found, str) else json.dumps(found)

        llm = self.mock.MockLMConfig(response_fn=answer)
        settings: dict[str, Any] = {"use_tools": True, "use_functions_api": False, **config}
        return (kind or self.lr.ChatAgent)(self.lr.ChatAgentConfig(name=name, llm=llm, **settings))

    def task(self, agent: Any, *subs: Any, **options: Any) -> Any:
        task = self.lr.Task(agent, interactive=False, **options)
        for each in subs:
            task.add_sub_task(each)
        return task

    def told(self, agent: Any) -> list[str]:
        return [f"{each.role.value}: {each.content}" for each in agent.message_history[1:]]


# ---- tools
@program
def a_tool_is_handled_by_a_method_and_its_result_used(on: Run) -> Any:
    class Own(on.lr.ChatAgent):
        def square(self, message: Any) -> str:
            return f"{message.number} squared is {message.number**2}"

    class Bare(on.lr.ToolMessage):
        request: str = "square"
        purpose: str = "To square a <number>."
        number: int

    agent = on.agent({"request": "square", "number": 4}, lambda text: f"DONE {text}", kind=Own)
    agent.enable_message(Bare)
    on.say(on.task(agent).run("Square 4"))
    on.say(on.told(agent))


@program
def a_tool_is_tried_again_until_it_fits(on: Run) -> Any:
    left = [{"request": "square", "number": "x"}, {"request": "square"}, {"request": "square", "number": 5}]
    agent = on.agent(*left, lambda text: f"DONE {text}")
    agent.enable_message(on.Square)
    on.say(on.task(agent).run("Square 5"))


@program
def a_handler_counts_its_tries(on: Run) -> Any:
    class Flaky(on.lr.ToolMessage):
        request: str = "flaky"
        purpose: str = "To try."
        tries: int = 0

    class Own(on.lr.ChatAgent):
        count = 0

        def flaky(self, message: Any) -> str:
            self.count += 1
            return "try again" if self.count < 3 else "it worked"

    def model(text: str) -> str:
        return "DONE at last" if "worked" in text else '{"request": "flaky"}'

    agent = on.agent(model, kind=Own)
    agent.enable_message(Flaky)
    on.say(on.task(agent).run("go"), agent.count)


@program
def a_handler_ends_the_task_with_a_value(on: Run) -> Any:
    class Finish(on.lr.ToolMessage):
        request: str = "finish"
        purpose: str = "To finish with a <number>."
        number: int

        def handle(self) -> Any:
            return on.tools.AgentDoneTool(content=self.number)

    agent = on.agent({"request": "finish", "number": 7})
    agent.enable_message(Finish)
    task = on.task(agent)
    on.say(task[int].run("go"))


@program
def a_handler_gives_a_result_tool_with_fields(on: Run) -> Any:
    class Finish(on.lr.ToolMessage):
        request: str = "finish"
        purpose: str = "To finish."

        def handle(self) -> Any:
            return on.tools.ResultTool(price=7, names=["a", "b"])

    agent = on.agent({"request": "finish"})
    agent.enable_message(Finish)
    result = on.task(agent).run("go")
    on.say([(tool.price, tool.names) for tool in result.tool_messages], result.metadata.status.value)


@program
def a_tool_with_examples_and_nested_fields(on: Run) -> Any:
    from pydantic import BaseModel, Field

    class Place(BaseModel):
        city: str
        country: str = "France"

    class Visit(on.lr.ToolMessage):
        request: str = "visit"
        purpose: str = "To visit a <place> for some <days>."
        place: Place
        days: list[int] = Field(default_factory=lambda: [1])

        def handle(self) -> Any:
            return on.tools.DoneTool(content=f"{self.place.city}, {self.place.country}: {sum(self.days)}")

    agent = on.agent({"request": "visit", "place": {"city": "Lyon"}, "days": [2, 3]})
    agent.enable_message(Visit)
    on.say(on.task(agent).run("go"))


@program
def an_agent_uses_what_another_handles(on: Run) -> Any:
    asker = on.agent({"request": "square", "number": 6}, lambda text: f"DONE {text}", name="Asker")
    asker.enable_message(on.Square, use=True, handle=False)
    doer = on.agent(lambda text: "unused", name="Doer")
    doer.enable_message(on.Square, use=False, handle=True)
    task = on.task(asker, on.task(doer, done_if_response=[on.lr.Entity.AGENT]))
    on.say(task.run("go"))


@program
def a_model_without_a_tool_is_told_to_use_one(on: Run) -> Any:
    answers = ["I think it is 9", {"request": "square", "number": 3}, lambda text: f"DONE {text}"]
    agent = on.agent(*answers, handle_llm_no_tool="You must use the tool square.")
    agent.enable_message(on.Square)
    on.say(on.task(agent).run("go"))
    on.say(on.told(agent)[:3])


@program
def a_function_says_what_happens_without_a_tool(on: Run) -> Any:
    def remind(msg: Any) -> Any:
        return on.tools.AgentDoneTool(content=f"no tool in: {msg.content}")

    agent = on.agent("just words", handle_llm_no_tool=remind)
    agent.enable_message(on.Square)
    on.say(on.task(agent).run("go"))


# ---- several agents
@program
def a_teacher_and_two_helpers_by_address(on: Run) -> Any:
    def teacher(text: str) -> str:
        if "12" in text:
            return "DONE both are 12"
        return "__SEND__:Adder what is 9 + 3?" if "begin" in text else "__SEND__:Doubler twice 6?"

    adder = on.task(on.agent(lambda text: "DONE it is eleven", name="Adder"))
    doubler = on.task(on.agent(lambda text: "DONE it is 12", name="Doubler"))
    on.say(on.task(on.agent(teacher, name="Teacher"), adder, doubler).run("begin"))


@program
def helpers_by_an_addressing_prefix(on: Run) -> Any:
    def teacher(text: str) -> str:
        return f"DONE {text}" if "answer" in text else "Here you are: @Helper say something"

    helper = on.agent(lambda text: f"DONE answer to {text}", name="Helper")
    config = on.lr.TaskConfig(addressing_prefix="@")
    on.say(on.task(on.agent(teacher, name="Teacher"), on.task(helper), config=config).run("begin"))


@program
def a_pipeline_of_three(on: Run) -> Any:
    third = on.task(on.agent(lambda text: f"DONE {text}!", name="Third"))
    second = on.task(on.agent(lambda text: f"DONE {text}" if "!" in text else f"{text}b", name="Second"), third)
    first = on.task(on.agent(lambda text: f"DONE {text}" if "!" in text else f"{text}a", name="First"), second)
    on.say(first.run("x"))


@program
def a_sub_task_is_run_by_a_tool_handler(on: Run) -> Any:
    inner = on.task(on.agent(lambda text: f"DONE {text.upper()}", name="Inner"))

    class Shout(on.lr.ToolMessage):
        request: str = "shout"
        purpose: str = "To shout a <text>."
        text: str

        def handle(self) -> str:
            return inner.run(self.text).content

    agent = on.agent({"request": "shout", "text": "hey"}, lambda text: f"DONE {text}")
    agent.enable_message(Shout)
    on.say(on.task(agent).run("go"))


@program
def two_agents_talk_for_some_turns(on: Run) -> Any:
    first = on.agent(lambda text: f"{len(text)} a", name="First")
    second = on.agent(lambda text: f"{len(text)} b", name="Second")
    task = on.task(first, on.task(second, single_round=True))
    on.say(task.run("hello", turns=4))
    on.say(on.told(first))


@program
def a_send_tool_chooses_who_is_next(on: Run) -> Any:
    def chief(text: str) -> Any:
        return f"DONE {text}" if "ready" in text else {"request": "send_tool", "to": "Cook", "content": "dinner?"}

    agent = on.agent(chief, name="Chief")
    agent.enable_message(on.tools.SendTool)
    cook = on.task(on.agent(lambda text: f"DONE {text} is ready", name="Cook"))
    on.say(on.task(agent, cook, on.task(on.agent("DONE no", name="Waiter"))).run("go"))


@program
def a_done_tool_carries_tools_of_its_own(on: Run) -> Any:
    class Collect(on.lr.ToolMessage):
        request: str = "collect"
        purpose: str = "To collect <items>."
        items: list[str]

        def handle(self) -> Any:
            return on.tools.AgentDoneTool(tools=[self])

    agent = on.agent({"request": "collect", "items": ["x", "y"]})
    agent.enable_message(Collect)
    result = on.task(agent).run("go")
    on.say([type(each).__name__ for each in result.tool_messages], [each.items for each in result.tool_messages])


@program
def a_sub_task_fails_over_to_the_next(on: Run) -> Any:
    subs = [on.task(on.agent(lambda text: "DO-NOT-KNOW", name="One")), on.task(on.agent("DONE I do", name="Two"))]
    chief = on.agent(lambda text: f"DONE {text}" if "I do" in text else "Who knows?", name="Chief")
    on.say(on.task(chief, *subs).run("go"))


# ---- ends
@program
def a_task_ends_when_its_done_says_so(on: Run) -> Any:
    class Own(on.lr.Task):
        def done(self, result: Any = None, r: Any = None) -> Any:
            is_done = result is not None and "42" in result.content
            return is_done, on.lr.StatusCode.DONE if is_done else on.lr.StatusCode.OK

    count = iter(range(40, 50))
    agent = on.agent(lambda text: str(next(count)))
    user = on.task(on.agent(lambda text: "more", name="User2"), single_round=True)
    task = Own(agent, interactive=False)
    task.add_sub_task(user)
    on.say(task.run("go", turns=10))


@program
def done_if_tool_and_the_tools_of_the_result(on: Run) -> Any:
    agent = on.agent({"request": "square", "number": 3})
    agent.enable_message(on.Square)
    result = on.task(agent, config=on.lr.TaskConfig(done_if_tool=True)).run("go")
    on.say([each.number for each in agent.try_get_tool_messages(result)], result.metadata.status.value)


@program
def a_sequence_of_two_tools_ends_the_task(on: Run) -> Any:
    class Cube(on.lr.ToolMessage):
        request: str = "cube"
        purpose: str = "To cube a <number>."
        number: int

        def handle(self) -> str:
            return str(self.number**3)

    agent = on.agent({"request": "square", "number": 2}, {"request": "cube", "number": 2}, "DONE never said")
    agent.enable_message([on.Square, Cube])
    config = on.lr.TaskConfig(done_sequences=["T[square], A, L, T[cube], A"])
    on.say(on.task(agent, config=config).run("go"))


@program
def turns_and_a_result_of_a_type(on: Run) -> Any:
    agent = on.agent("the answer is 17", "17", "DONE 17")
    on.say(on.task(agent, single_round=True)[str].run("go"))
    on.say(on.task(agent)[int].run("go", turns=1))


@program
def a_task_is_killed_from_its_handler(on: Run) -> Any:
    class Stop(on.lr.ToolMessage):
        request: str = "stop"
        purpose: str = "To stop."

        def handle(self, agent: Any) -> str:
            task.kill()
            return "stopped"

    agent = on.agent({"request": "stop"}, "DONE no")
    agent.enable_message(Stop)
    task = on.task(agent)
    on.say(task.run("go").metadata.status.value)


@program
def only_some_responders(on: Run) -> Any:
    class Own(on.lr.ChatAgent):
        def user_response(self, msg: Any = None) -> Any:
            return None

        def agent_response(self, msg: Any = None) -> Any:
            is_model = getattr(msg, "metadata", None) is not None and msg.metadata.sender == on.lr.Entity.LLM
            return self.create_agent_response(f"DONE {msg.content} checked") if is_model else None

    on.say(on.task(on.agent("a draft", kind=Own)).run("go"))


# ---- batches
@program
def a_batch_maps_its_items_and_results(on: Run) -> Any:
    task = on.task(on.agent(lambda text: f"DONE {int(text) + 1}"))
    found = on.batch.run_batch_tasks(
        task, [1, 2, 3], input_map=lambda x: str(x * 10), output_map=lambda doc: int(doc.content), sequential=False
    )
    on.say(found)


@program
def a_batch_in_small_parts_with_a_failure(on: Run) -> Any:
    def model(text: str) -> str:
        if text == "2":
            raise ValueError("two")
        return f"DONE {text}"

    found = on.batch.run_batch_task_gen(
        lambda i: on.task(on.agent(model)), ["1", "2", "3"], batch_size=2, sequential=True,
        handle_exceptions=on.batch.ExceptionHandling.RETURN_NONE,
    )  # fmt: skip
    on.say(found)


@program
def answers_of_a_model_in_a_batch(on: Run) -> Any:
    agent = on.agent(lambda text: text.upper())
    found = on.batch.llm_response_batch(agent, ["a", "b"], output_map=lambda doc: doc.content)
    on.say(found, len(agent.message_history))


@program
def a_batch_of_tasks_made_one_by_one(on: Run) -> Any:
    def make(i: int) -> Any:
        return on.task(on.agent(lambda text: f"DONE {i} {text}", name=f"A{i}"))

    found = on.batch.run_batch_task_gen(make, ["x", "y", "z"], sequential=False)
    on.say([each.content for each in found])


# ---- agents alone
@program
def a_conversation_is_edited_and_goes_on(on: Run) -> Any:
    agent = on.agent(lambda text: f"<{text}>", system_message="Be brief.")
    for text in ("one", "two", "three"):
        agent.llm_response(text)
    agent.clear_history(-2)
    agent.update_last_message("two, edited", role=on.base.Role.USER)
    agent.llm_response("four")
    on.say(on.told(agent))
    on.say(agent.llm_response_forget("aside"), len(agent.message_history))


@program
def an_async_program_runs_two_tasks_at_once(on: Run) -> Any:
    tasks = [on.task(on.agent(lambda text, i=i: f"DONE {i}{text}", name=f"A{i}")) for i in range(2)]

    async def main() -> Any:
        return await asyncio.gather(*[each.run_async("x") for each in tasks])

    on.say(asyncio.run(main()))


@program
def a_handler_is_async_in_an_async_run(on: Run) -> Any:
    class Slow(on.lr.ToolMessage):
        request: str = "slow"
        purpose: str = "To wait."

        def handle(self) -> str:
            return "sync"

        async def handle_async(self) -> str:
            await asyncio.sleep(0)
            return "async"

    def task() -> Any:
        agent = on.agent({"request": "slow"}, lambda text: f"DONE {text}")
        agent.enable_message(Slow)
        return on.task(agent)

    on.say(task().run("go"), asyncio.run(task().run_async("go")))


def outcome(lr: Any, name: str) -> list[str]:
    """What a program said, and the class of Python's own of its error."""
    run = Run(lr)
    try:
        PROGRAMS[name](run)
    except Exception as error:
        kinds = [each.__name__ for each in type(error).__mro__ if hasattr(builtins, each.__name__)]
        run.log.append(f"raised {kinds[0]}")
    return run.log


def main() -> None:
    """Ask Langroid, and write what it says beside what is written there by hand."""
    os.environ["TIKTOKEN_CACHE_DIR"] = str(next(Path(sys.prefix).glob(VOCABULARY), ""))
    os.chdir(tempfile.mkdtemp())
    import langroid as lr  # type: ignore[import-not-found]

    lr.utils.configuration.settings.quiet = True
    logging.disable(logging.CRITICAL)
    before = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
    rows = {name: {**before.get(name, {}), "expected": outcome(lr, name)} for name in PROGRAMS}
    TABLE.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
