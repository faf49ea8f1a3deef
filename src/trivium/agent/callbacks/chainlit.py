"""Chainlit as a set of callbacks: a conversation with an agent or a task in a browser."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from importlib import import_module
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from trivium.agents import Agent
from trivium.exceptions import MissingExtraError
from trivium.tasks import NO_ANSWER, Task

__all__ = ["ChainlitAgentCallbacks", "ChainlitCallbackConfig", "ChainlitTaskCallbacks"]

USER_TIMEOUT = 60_000
"""Seconds that a user has for an answer."""
_CONTINUE = "c"
_QUIT = "x"
_ICONS = {"llm": "🧠 LLM", "agent": "⚙ Agent", "user": "🙂 You", "error": "⚠ Error"}


class ChainlitCallbackConfig(BaseModel):
    """The options of the display.

    Args:
        user_has_agent_name: the user is called by the agent's name too, to tell whose user it is.
        show_subtask_response: show what a sub-task has answered as a step of the task above.
    """

    model_config = ConfigDict(extra="forbid")

    user_has_agent_name: bool = True
    show_subtask_response: bool = True


class ChainlitAgentCallbacks:
    """Shows in Chainlit what an agent does, and asks the user there: sets the agent's callbacks.

    Make it inside of a Chainlit handler, for an agent of that user's own. Run the agent with
    `await agent.acall(…)`, or a sync program with `cl.make_async`.

    Args:
        agent: whose callbacks are set.
        config: what is shown.

    Attributes:
        last_step: what was shown last; steps of sub-tasks stand below it.
        curr_step: a step without content, which the next message fills.
        stream: the message that the model is writing.
        parent_agent: the agent of the task above.

    Raises:
        MissingExtraError: Chainlit is not installed.

    Example::

        @cl.on_chat_start
        async def start():
            agent = ChatAgent()
            ChainlitAgentCallbacks(agent)
            cl.user_session.set("agent", agent)
    """

    last_step: Any = None
    curr_step: Any = None
    stream: Any = None
    parent_agent: Agent | None = None

    _NAMES: ClassVar = (
        "start_llm_stream", "start_llm_stream_async", "cancel_llm_stream", "finish_llm_stream", "show_llm_response",
        "show_agent_response", "get_user_response", "get_user_response_async", "get_last_step", "set_parent_agent",
        "show_error_message", "show_start_response",
    )  # fmt: skip

    def __init__(self, agent: Agent, config: ChainlitCallbackConfig | None = None) -> None:
        try:
            self._chainlit: Any = import_module("chainlit")
        except ImportError:
            raise MissingExtraError("chainlit") from None
        self.agent, self.config = agent, config or ChainlitCallbackConfig()
        for name in self._NAMES:
            setattr(agent.callbacks, name, getattr(self, name))

    # ---- the model
    def start_llm_stream(self) -> Callable[..., None]:
        """Begin a message; returns the function that adds to it."""
        self._begin_stream()

        def add(text: str, kind: Any = None) -> None:
            self._run(self._add(text, kind))

        return add

    async def start_llm_stream_async(self) -> Callable[..., Coroutine[Any, Any, None]]:
        """Begin a message; returns the coroutine function that adds to it."""
        self._begin_stream()
        return self._add

    def cancel_llm_stream(self) -> None:
        """Take the message away again."""
        stream, self.stream = self.stream, None
        if stream is not None:
            self.last_step = None
            self._run(stream.remove())

    def finish_llm_stream(
        self, content: str, tools_content: str = "", is_tool: bool = False, reasoning: str = ""
    ) -> None:
        """Show the whole of the message that was streamed."""
        stream, self.stream = self.stream, None
        if stream is None:
            return
        stream.content = tools_content or content or NO_ANSWER
        stream.author = self._name("llm", is_tool)
        stream.language = "json" if is_tool and not tools_content else None
        self._run(stream.update())
        self._show_reasoning(stream, reasoning)

    def show_llm_response(
        self,
        content: str,
        tools_content: str = "",
        is_tool: bool = False,
        cached: bool = False,
        language: str | None = None,
        reasoning: str = "",
    ) -> None:
        """Show an answer that was not streamed."""
        author = self._name("llm", is_tool) + (" (cached)" if cached else "")
        step = self._message(tools_content or content or NO_ANSWER, author, language=language)
        self._run(step.send())
        self._show_reasoning(step, reasoning)

    # ---- the agent and the user
    def show_agent_response(self, content: str, language: str = "text", is_tool: bool = False) -> None:
        """Show what the agent did by itself."""
        kind = "json" if language == "json" or is_tool else None
        self._run(self._message(content, self._name("agent"), kind="tool", language=kind).send())

    def show_error_message(self, error: str) -> None:
        """Show that a call failed."""
        step = self._message(error, self._name("error"), kind="run", language="text")
        step.is_error = True
        self._run(step.send())

    def show_start_response(self, entity: str) -> None:
        """Show a step without content: something is under way."""
        if self.curr_step is not None:
            self._run(self.curr_step.remove())
            self.curr_step = None
        step = self._message("", self._name(entity), kind="run")
        self.curr_step = step
        self._run(step.send())

    def get_user_response(self, prompt: str = "") -> str:
        """Ask the user; "" to go on, "x" where the user does not answer in time."""
        return self._run(self.get_user_response_async(prompt))

    async def get_user_response_async(self, prompt: str = "") -> str:
        """Ask the user; "" to go on, "x" where the user does not answer in time."""
        author = f"{self.agent.name} (awaiting your answer)"
        question = self._chainlit.AskUserMessage(content=prompt, author=author, timeout=USER_TIMEOUT)
        answer = await question.send()
        if not prompt:
            await question.remove()  # an empty line in the conversation
        if answer is None:
            return _QUIT
        said = str(answer["output"])
        return "" if said.strip() == _CONTINUE else said

    # ---- where steps stand
    def get_last_step(self) -> Any:
        """Return the step that was displayed last."""
        return self.last_step

    def set_parent_agent(self, parent: Agent) -> None:
        """Show what comes below the last step of this agent."""
        self.parent_agent = parent

    # ---- how it is done
    def _begin_stream(self) -> None:
        self.stream = self._message("", self._name("llm"))

    async def _add(self, text: str, kind: Any = None) -> None:
        if self.stream is not None:
            await self.stream.stream_token(text)

    def _show_reasoning(self, step: Any, reasoning: str) -> None:
        if reasoning:
            thought = self._chainlit.Message(content=reasoning, author=f"{self._name('llm')} 💭")
            thought.parent_id = step.id
            self._run(thought.send())

    def _message(
        self, content: str, author: str, *, kind: str = "assistant_message", language: str | None = None
    ) -> Any:
        """The next message; it takes the place of a step without content."""
        place, self.curr_step = self.curr_step, None
        place_id = None if place is None else place.id
        step = self._chainlit.Message(content=content, id=place_id, author=author, type=kind, language=language)
        if (parent_id := self._parent_id()) is not None:
            step.parent_id = parent_id  # set here: in a handler Chainlit takes its own step, whatever it is given
        self.last_step = step
        return step

    def _parent_id(self) -> str | None:
        step = None if self.parent_agent is None else self.parent_agent.callbacks.get_last_step()
        return None if step is None else step.id

    def _name(self, entity: str, is_tool: bool = False) -> str:
        name = self.agent.name
        if entity == "user" and not self.config.user_has_agent_name:
            return _ICONS["user"]
        if entity != "llm":
            return f"{name} ({_ICONS.get(entity, entity)})"
        llm = self.agent.llm
        model = llm if isinstance(llm, str) else getattr(llm, "name", "")
        return f"{name} ({_ICONS['llm']} {model}{' → 🛠' if is_tool else ''})"

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Wait for Chainlit, whose loop is another thread's: callbacks that are `def` are called in a worker."""
        return self._chainlit.run_sync(work)


class ChainlitTaskCallbacks(ChainlitAgentCallbacks):
    """Shows in Chainlit what a task does: sets the callbacks of the task, of its agent, and of all sub-tasks.

    Args:
        task: whose callbacks are set; give it its sub-tasks before.
        config: what is shown.

    Raises:
        MissingExtraError: Chainlit is not installed.

    Example::

        @cl.on_message
        async def answer(message):
            task = Task(ChatAgent(), interactive=False)
            ChainlitTaskCallbacks(task)
            await task.run_async(message.content)
    """

    def __init__(self, task: Task, config: ChainlitCallbackConfig | None = None) -> None:
        super().__init__(task.agent, config)
        self.task = task
        if self.config.show_subtask_response:
            task.callbacks.show_subtask_response = self.show_subtask_response
        for below in task.sub_tasks:
            type(self)(below, self.config)

    def show_subtask_response(self, task: Task, content: str, is_tool: bool = False) -> None:
        """Show what a sub-task has answered."""
        author = f"{self.agent.name} (⏎ from {task.agent.name})"
        language = "json" if is_tool else None
        self._run(self._message(content or NO_ANSWER, author, kind="run", language=language).send())
