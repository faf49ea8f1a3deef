"""Scripted runs of tasks as data: one interpreter builds each on trivium or on Langroid, and tells what came of it.

Langroid's own environment reads this file too (see `scripts/scenarios.py`), so nothing of trivium is
imported here: a package is given as a module.

A scenario has a `task` and what is done with it, `runs`. A task is described by
`name`, `llm` (what its model says in turn, text, or a dict that it says as JSON, or `{"calls": […]}` for calls
through the provider's interface; then nothing any more; null is no model), `tools`, `agent` (its config's fields),
`options` (the task's keywords), `config` (its `TaskConfig`'s fields), `user` (what the user answers in turn, then q),
`fallback` (what the agent says to messages without a tool, in turn), `subs` (its sub-tasks), and `sub_config` (the
`TaskConfig` with which it is added). A run has `msg` (text, or a message's fields), what else `run` is given,
`steps` where single steps are made in place of a run, `max_turns` of the settings, and `clone` where a clone runs.

What came of it, `expected`, is what each run gave (null, a result or an error), the roles in each agent's history, a
letter each, what each model was told last when it was asked, and how often the user was asked. Where the texts are
the package's own (`free_text`), of what models were told only the number counts.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

Fields = dict[str, Any]
LETTERS = {"system": "s", "user": "u", "assistant": "a", "function": "f", "tool": "t"}
HOMES = (
    "agent.tools.orchestration",
    "agent.tools.recipient_tool",
    "agent.tools.rewind_tool",
    "agent.task",
    "agent.chat_document",
    "language_models.mock_lm",
    "language_models.base",
    "mytypes",
    "exceptions",
    "actions",
    "schema",
)


def named(lr: Any, name: str) -> Any:
    """A public name, wherever the package keeps it."""
    for home in ("", *HOMES):
        try:
            found = import_module(f"{lr.__name__}.{home}".rstrip("."))
        except ImportError:
            continue
        if hasattr(found, name):
            return getattr(found, name)
    raise LookupError(f"{lr.__name__} has no {name}")


# ---- the tools
def tool_classes(lr: Any, built: Build) -> dict[str, Any]:
    """The tools that scenarios use, by name; the package's own by the name of their class."""
    message: Any = lr.ToolMessage

    class Square(message):
        request: str = "square"
        purpose: str = "To square a <number>."
        number: int

        def handle(self) -> str:
            return str(self.number**2)

    class Cube(message):
        request: str = "cube"
        purpose: str = "To cube a <number>."
        number: int

        def handle(self) -> str:
            return str(self.number**3)

    class Orphan(message):
        request: str = "orphan"
        purpose: str = "To ask for a <key>, which nobody here can look up."
        key: str

    class Method(message):
        request: str = "method"
        purpose: str = "To be handled by a method of the agent, with a <text>."
        text: str

    class Silent(message):
        request: str = "silent"
        purpose: str = "To get no answer."

        def handle(self) -> None:
            return None

    class Blank(message):
        request: str = "blank"
        purpose: str = "To get an empty answer."

        def handle(self) -> str:
            return ""

    class Data(message):
        request: str = "data"
        purpose: str = "To get data."

        def handle(self) -> dict[str, int]:
            return {"a": 1}

    class Fails(message):
        request: str = "fails"
        purpose: str = "To fail."

        def handle(self) -> str:
            raise ValueError("no such thing")

    class Chained(message):
        request: str = "chained"
        purpose: str = "To have a <number> squared by the other tool."
        number: int

        def handle(self) -> Any:
            return Square(number=self.number)

    class Finish(message):
        request: str = "finish"
        purpose: str = "To end the task with a <text>."
        text: str

        def handle(self) -> Any:
            return named(lr, "AgentDoneTool")(content=self.text)

    class Typed(message):
        request: str = "typed"
        purpose: str = "To end the task with a <number> as a value."
        number: int

        def handle(self) -> Any:
            return named(lr, "ResultTool")(answer=self.number)

    class Final(message):
        request: str = "final"
        purpose: str = "To end all tasks with a <number>."
        number: int

        def handle(self) -> Any:
            return named(lr, "FinalResultTool")(answer=self.number)

    class Whose(message):
        request: str = "whose"
        purpose: str = "To ask whose agent handles this."

        def handle(self, agent) -> str:  # type: ignore[no-untyped-def] - known by its name
            agent = cast("Any", agent)
            return f"handled by {agent.config.name}"

    class Carried(message):
        request: str = "carried"
        purpose: str = "To ask how long the message is."

        def handle(self, chat_doc: Any) -> str:
            return f"{len(chat_doc.content)} characters"

    class Stop(message):
        request: str = "stop"
        purpose: str = "To kill the task."

        def handle(self) -> str:
            built.tasks[0].kill()
            return "killed"

    own = (
        Square,
        Cube,
        Orphan,
        Method,
        Silent,
        Blank,
        Data,
        Fails,
        Chained,
        Finish,
        Typed,
        Final,
        Whose,
        Carried,
        Stop,
    )
    return {each.model_fields["request"].default: each for each in own}


# ---- building
class Build:
    """What a scenario is made of on one package."""

    def __init__(self, lr: Any) -> None:
        self.lr = lr
        self.tasks: list[Any] = []
        self.agents: dict[str, Any] = {}
        self.heard: dict[str, list[str]] = {}
        self.asked = 0
        self.classes = tool_classes(lr, self)

    def tool_class(self, name: str) -> Any:
        return self.classes[name] if name in self.classes else named(self.lr, name)

    def task(self, spec: dict[str, Any]) -> Any:
        lr, name = self.lr, spec["name"]
        place = len(self.tasks)
        self.tasks.append(None)
        agent = self.agents[name] = self.agent(spec)
        config = lr.TaskConfig(enable_loggers=False, enable_html_logging=False, **spec.get("config", {}))
        options: dict[str, Any] = {"interactive": False, **spec.get("options", {})}
        for key in options.keys() & {"done_if_response", "done_if_no_response"}:
            options[key] = [lr.Entity(each) for each in options[key]]
        task = self.tasks[place] = lr.Task(agent, name=name, config=config, **options)
        for sub in spec.get("subs", ()):
            added = self.task(sub)
            task.add_sub_task((added, lr.TaskConfig(**sub["sub_config"])) if "sub_config" in sub else added)
        return task

    def agent(self, spec: dict[str, Any]) -> Any:
        lr = self.lr
        fallback, script = [self.value(each) for each in spec.get("fallback", ())], spec.get("llm", [])

        class Scripted(lr.ChatAgent):
            def method(self, message: Any) -> str:
                return f"the agent read {message.text}"

            def handle_message_fallback(self, msg: Any) -> Any:
                mine = script is None or (isinstance(msg, lr.ChatDocument) and msg.metadata.sender == lr.Entity.LLM)
                known: Any = super()
                return fallback.pop(0) if fallback and mine else known.handle_message_fallback(msg)

        ways = {"use_tools": True, "use_functions_api": False, "search_for_tools_everywhere": True}
        settings: dict[str, Any] = {**ways, **spec.get("agent", {})}
        if isinstance(settings.get("handle_llm_no_tool"), dict):
            settings["handle_llm_no_tool"] = self.value(settings["handle_llm_no_tool"])
        say = self.sayer(spec["name"], list(script or ()))
        llm = None if script is None else mock(lr, say)
        agent = Scripted(lr.ChatAgentConfig(name=spec["name"], llm=llm, **settings))
        if any(isinstance(each, dict) and "calls" in each for each in script or ()):
            agent.llm = calling_model(lr, say)
        for tool in spec.get("tools", ()):
            name, options = (tool, Fields()) if isinstance(tool, str) else tool
            agent.enable_message(self.tool_class(name), **options)
        answers = list(spec.get("user", ()))
        if "user" in spec:
            agent.callbacks.get_user_response = lambda prompt="": self.ask(answers)
            agent.callbacks.get_user_response_async = None
        return agent

    def ask(self, answers: list[str]) -> str:
        self.asked += 1
        return answers.pop(0) if answers else "q"

    def value(self, given: Any) -> Any:
        """A tool message where a dict names one, else the value."""
        if not isinstance(given, dict):
            return given
        fields = dict(cast("Fields", given))
        return self.tool_class(fields.pop("tool"))(**fields)

    def sayer(self, name: str, script: list[Any]) -> Callable[[str], Any]:
        """What a model says to the last message: what is in the script, then nothing any more."""
        heard = self.heard.setdefault(name, [])

        def say(last: str) -> Any:
            heard.append(last)
            said = script.pop(0) if script else ""
            return json.dumps(said) if isinstance(said, dict) and "calls" not in said else cast("Any", said)

        return say


def mock(lr: Any, say: Callable[[str], Any]) -> Any:
    """The package's mock of a model."""
    try:
        config = named(lr, "MockLMConfig")
    except LookupError:  # not yet here
        return calling_model(lr, say)
    return config(response_fn=say, default_response="")


def calling_model(lr: Any, say: Callable[[str], Any]) -> Any:
    """A model that makes calls through the provider's interface too."""
    if lr.__name__ == "trivium":
        from trivium.llms import ToolCallPart
        from trivium.testing import ScriptedModel

        class Calling(ScriptedModel):
            def stream(self, request: Any) -> Any:
                said = say(request.messages[-1].get("content") or "")
                if isinstance(said, str):
                    yield said
                    return
                yield said.get("text", "")
                for index, call in enumerate(said["calls"]):
                    yield ToolCallPart(index, call["id"], call["name"], json.dumps(call["arguments"]))

        return Calling([])
    base, mock = import_module("langroid.language_models.base"), named(lr, "MockLM")

    def call(each: dict[str, Any]) -> Any:
        function = base.LLMFunctionCall(name=each["name"], arguments=each["arguments"])
        return base.OpenAIToolCall(id=each["id"], type="function", function=function)

    class CallingMock(mock):
        def _response(self, msg: str) -> Any:
            said = say(msg)
            if isinstance(said, str):
                return base.LLMResponse(message=said)
            return base.LLMResponse(message=said.get("text", ""), oai_tool_calls=[call(each) for each in said["calls"]])

        async def _response_async(self, msg: str) -> Any:
            return self._response(msg)

    return CallingMock(named(lr, "MockLMConfig")())


# ---- running
def outcome(lr: Any, scenario: dict[str, Any], *, is_async: bool = False) -> Fields:
    """What came of a scenario: each run's result or error, what each history holds, what each model heard."""
    built = Build(lr)
    root = built.task(scenario["task"])
    runs = [one_run(built, root, dict(run), is_async) for run in scenario["runs"]]
    loose = scenario.get("free_text", False)
    return {
        "runs": runs,
        "histories": {name: history(agent) for name, agent in built.agents.items()},
        "heard": {name: len(heard) if loose else heard for name, heard in built.heard.items() if heard},
        **({"asked": built.asked} if built.asked else {}),
    }


def one_run(built: Build, root: Any, run: dict[str, Any], is_async: bool) -> Any:
    """The result of a run, or of each step."""
    lr = built.lr
    msg = message(lr, run.pop("msg", None))
    steps, max_turns = run.pop("steps", None), run.pop("max_turns", None)
    if run.pop("clone", False):
        root = root.clone(1)
    settings = None if max_turns is None else import_module(f"{lr.__name__}.utils.configuration").settings
    if settings is not None:
        settings.max_turns = max_turns
    try:
        if steps is not None:
            root.init(msg)
            return [one_step(lr, root, is_async) for _ in range(steps)]
        return shown(lr, asyncio.run(root.run_async(msg, **run)) if is_async else root.run(msg, **run))
    except Exception as error:  # an outcome too
        endless = isinstance(error, named(lr, "InfiniteLoopException"))
        return {"error": "InfiniteLoopException" if endless else type(error).__name__}
    finally:
        if settings is not None:
            settings.max_turns = -1


def one_step(lr: Any, root: Any, is_async: bool) -> Any:
    """What a step made of the pending message, and whether the task is done."""
    found = shown(lr, asyncio.run(root.step_async()) if is_async else root.step())
    found.pop("name", None)  # Langroid's model does not say whose it is
    return {**found, "done": root.done()[0]}


def message(lr: Any, given: Any) -> Any:
    """A message, of text or of its fields."""
    if not isinstance(given, dict):
        return given
    fields = dict(cast("Fields", given))
    fields |= {"sender": lr.Entity(fields.get("sender", "User"))}
    return lr.ChatDocument(content=fields.pop("content"), metadata=named(lr, "ChatDocMetaData")(**fields))


def shown(lr: Any, result: Any) -> Any:
    """What can be compared of a result."""
    if result is None:
        return None
    metadata, final = result.metadata, named(lr, "FinalResultTool")
    found = {
        "content": result.content,
        "sender": metadata.sender.value,
        "name": metadata.sender_name,
        "recipient": metadata.recipient,
        "status": None if metadata.status is None else metadata.status.value,
        "tools": ["final" if isinstance(tool, final) else tool.request for tool in result.tool_messages],
    }
    return {name: value for name, value in found.items() if value or name in ("content", "sender")}


def history(agent: Any) -> str:
    """The roles of an agent's history, a letter each."""
    return "".join(LETTERS[str(getattr(each.role, "value", each.role))] for each in agent.message_history)
