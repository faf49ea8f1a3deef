"""The tool by which a model gives a task to a new agent that it describes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from pydantic import Field

from trivium.actions import DoneTool, ToolMessage
from trivium.agents import ChatAgent, ChatAgentConfig
from trivium.commander.lowlevel import driver_neutral, step, sync_method
from trivium.exceptions import ToolArgumentsError
from trivium.policies import SourceKind
from trivium.schema import Entity, Message
from trivium.schema.lowlevel import link
from trivium.tasks._task import Task

_ALL, _NONE, _TURNS = ["ALL"], ["NONE"], 10


class TaskTool(ToolMessage):
    """Gives a task of the model to a new agent, with some of the tools that the model's own agent knows.

    The new agent sees only these fields, not the conversation. It works within the same run: limits, deadline and
    kills hold for it too.

    Args:
        system_message: the instruction of the new agent.
        prompt: its task.
        tools: the names of its tools; ["ALL"]: all that the model may use, ["NONE"]: none.
        model: the name of its model; default: the same model.
        max_iterations: the most responses; default: 10.
        agent_name: its name; default: a unique name.
    """

    _source: ClassVar[SourceKind] = "program"
    _effect = "composite"
    request: str = "task_tool"
    purpose: str = "To give <prompt> as a task to a new agent, that is told <system_message> and has <tools>."
    system_message: str | None = Field(
        description="who the agent is, how it works, when it uses which tool, and all that it has to know"
    )
    prompt: str = Field(description="the one thing that the agent is to do now")
    tools: list[str] = Field(description='names of tools that you know; ["ALL"] for all of them, ["NONE"] for none')
    model: str | None = Field(default=None, description="the name of its model; leave it out for your own")
    max_iterations: int | None = Field(default=None, ge=1, description="how many responses it may take")
    agent_name: str | None = Field(default=None, description="what it is called in logs")

    def set_up_task(self, agent: Any) -> Task[Any]:
        """Return the task, whose agent has the tools and the one that ends it."""
        with step("name") as node:
            name = re.sub(r"[^a-zA-Z0-9_-]+", "-", self.agent_name or "").strip("-") or f"agent-{node.new_id()[:8]}"
        done = DoneTool.name()
        own: dict[str, Any] = agent.options.model_dump(include={"use_tools", "use_functions_api"}, exclude_unset=True)
        config = ChatAgentConfig(
            name=name,
            llm=self.model or agent.llm,
            system_message=f"{self.system_message or ''}\n\nWhen you are done, call `{done}` with the result.".strip(),
            handle_llm_no_tool=f"You called no tool. Call `{done}` with the result, or a tool that helps. "
            f"This was your task:\n{self.prompt}",
            **own,
        )
        worker = ChatAgent(config)
        worker.enable_message([*dict.fromkeys([*self._classes(agent), DoneTool])])
        return Task(worker, interactive=False)

    def _classes(self, agent: Any) -> Iterator[type[ToolMessage]]:
        known = {name: each for name, each in agent.llm_tools_map.items() if each._allow_llm_use}
        wanted = [name for name in known if name != self.request] if self.tools == _ALL else self.tools
        for name in () if wanted == _NONE else wanted:
            if name not in known:
                text = f"there is no tool '{name}' for an agent; there are {', '.join(known) or 'none'}"
                raise ToolArgumentsError(text, self.request)
            yield known[name]

    @driver_neutral
    async def handle_async(self, agent: Any, chat_doc: Message | None = None) -> Message:
        """Run the task, and return its result in the name of the agent.

        Args:
            agent: the agent whose model called the tool.
            chat_doc: the message with the call.

        Raises:
            ToolArgumentsError: there is no such tool.
        """
        task = self.set_up_task(agent)
        prompt = Message(content=self.prompt)  # nobody's word: a call in it runs nowhere
        if chat_doc is not None:
            link(chat_doc, prompt)
        result = await task.run_async(prompt, turns=self.max_iterations or _TURNS)
        result = result or Message(content=f"{task.name} came to no result; say more clearly what it is to do")
        return result.replace(sender=agent.name, entity=Entity.AGENT, receiver=None, status=None)

    handle = sync_method(handle_async)
