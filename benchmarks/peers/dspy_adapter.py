"""DSPy: an `LM` with an engine of one's own; a prediction, or a `ReActV2` that runs tools; a history is the user's."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, ClassVar

import dspy
from common import WITNESS, Adapter, Call, Script, ask, greeting, pause, word
from dspy.lm15 import (
    Message,
    Request,
    Response,
    StreamDeltaEvent,
    StreamEndEvent,
    StreamStartEvent,
    TextDelta,
    TextPart,
    Usage,
)
from dspy.predict.react_v2 import ReActV2

RESULTS, QUESTION = "[[ ## tool_call_results ## ]]", "[[ ## question ## ]]"


def said(script: Script, messages: Sequence[Message]) -> Any:
    """Results stand in the user's messages, behind a mark."""
    results = list[Any]()
    for message in reversed(messages):
        if message.role != "user":
            continue
        if message.text.startswith(RESULTS):
            found = json.loads(message.text.removeprefix(RESULTS))["tool_call_results"]
            results += [each["value"] for each in reversed(found)]
        elif QUESTION in message.text:
            break
    return ask(script, results[::-1], messages)


def asked(script: Script, messages: Sequence[Message]) -> Any:
    """A manager's model: what the worker said is what it is asked."""
    return ask(script, [messages[-1].text.partition(QUESTION)[2].split()[0]], messages)


def fields(**given: Any) -> str:
    """An answer in the form that DSPy's chat adapter asks for."""
    return "\n\n".join([*(f"[[ ## {name} ## ]]\n{value}" for name, value in given.items()), "[[ ## completed ## ]]"])


class Engine:
    """A model of a script."""

    def __init__(self, script: Script, calling: bool, said: Callable[[Script, Sequence[Message]], Any] = said) -> None:
        self.script, self.calling, self.said = script, calling, said

    def complete(self, request: Request) -> Response:
        answer = self.said(self.script, request.messages)
        if self.calling:
            call = answer if isinstance(answer, Call) else Call("submit", {"answer": answer})
            calls = {"tool_calls": [{"name": call.name, "args": dict(call.arguments)}]}
            text = fields(next_thought="on", tool_calls=json.dumps(calls))
        else:
            text = fields(answer=answer)
        return Response(
            id=None,
            model="scripted",
            message=Message.assistant([TextPart(text)]),
            finish_reason="stop",
            usage=Usage(input_tokens=0, output_tokens=0, total_tokens=0),
        )

    def stream(self, request: Request) -> Any:
        raise NotImplementedError

    def close(self) -> None: ...

    def dump_state(self) -> dict[str, Any]:
        return {}

    @classmethod
    def load_state(cls, state: Any) -> Engine:
        raise NotImplementedError


class AsyncEngine(Engine):
    """The same for async code."""

    async def complete(self, request: Request) -> Response:  # type: ignore[override]
        return super().complete(request)

    async def stream(self, request: Request) -> AsyncIterator[Any]:
        yield StreamStartEvent()
        yield StreamDeltaEvent(TextDelta("[[ ## answer ## ]]\n"))
        for piece in self.said(self.script, request.messages):
            if WITNESS.paced:
                await pause()
            yield StreamDeltaEvent(TextDelta(piece))
        yield StreamDeltaEvent(TextDelta("\n\n[[ ## completed ## ]]"))
        yield StreamEndEvent("stop", Usage(input_tokens=0, output_tokens=0, total_tokens=0))

    async def aclose(self) -> None: ...


class Asked:
    """A module and its model, and the histories of its user."""

    def __init__(self, script: Script, tools: Sequence[Any] = (), remembers: bool = False, said: Any = said) -> None:
        calling = bool(tools)
        engines = {"engine": Engine(script, calling, said), "async_engine": AsyncEngine(script, calling, said)}
        self.lm = dspy.LM("scripted", cache=False, **engines)
        kept = "history: dspy.History, question: str -> answer: str"
        signature = kept if remembers else "question: str -> answer: str"
        self.module = ReActV2(signature, list(tools)) if tools else dspy.Predict(signature)
        self.module.set_lm(self.lm)
        self.sessions: dict[str, list[dict[str, Any]]] | None = {} if remembers else None

    def given(self, text: str, session: str) -> dict[str, Any]:
        if self.sessions is None:
            return {"question": text}
        return {"question": text, "history": dspy.History(messages=self.sessions.setdefault(session, []))}

    def keep(self, text: str, session: str, answer: str) -> str:
        if self.sessions is not None:
            self.sessions[session].append({"question": text, "answer": answer})
        return answer


class Peer(Adapter):
    title = "DSPy"
    distributions = ("dspy", "litellm", "pydantic", "openai")
    statement = "import dspy; dspy.Predict, dspy.ReAct, dspy.LM"
    notes: ClassVar = {
        "build": "a ReActV2 with tools, else a Predict",
        "turn": "a prediction",
        "node": "modules below a module",
        "state": "each module's demonstrations: a conversation is its user's",
        "stream": "streamify, with a listener to the answer",
    }

    def agent(
        self, script: Script, tools: Sequence[Any] = (), *, in_loop: bool = False, remembers: bool = False
    ) -> Asked:
        return Asked(script, tools, remembers)

    def run(self, agent: Asked, text: str, session: str) -> str:
        return agent.keep(text, session, agent.module(**agent.given(text, session)).answer)

    async def arun(self, agent: Asked, text: str, session: str) -> str:
        return agent.keep(text, session, (await agent.module.acall(**agent.given(text, session))).answer)

    def forget(self, agent: Asked, sessions: Sequence[str]) -> None:
        agent.lm.history.clear()
        agent.module.history.clear()

    async def stream(self, agent: Asked, text: str, got: Callable[[str], Any]) -> None:
        listener = dspy.streaming.StreamListener(signature_field_name="answer")
        stream = dspy.streamify(agent.module, stream_listeners=[listener], is_async_program=True)
        async for each in stream(question=text):
            if isinstance(each, dspy.streaming.StreamResponse) and each.chunk:  # the last is empty
                got(each.chunk)

    def team(self) -> Callable[[str], str]:
        class Team(dspy.Module):
            def __init__(self) -> None:
                super().__init__()
                self.planner = Asked(lambda results: "Ask the worker.").module
                self.worker = Asked(word).module
                self.manager = Asked(lambda results: f"done {results[-1]}", said=asked).module

            def forward(self, question: str) -> Any:
                planned = self.planner(question=question).answer
                return self.manager(question=self.worker(question=planned).answer)

        team = Team()
        return lambda text: team(question=text).answer

    def node(self) -> Callable[[int], float]:
        class Nothing(dspy.Module):
            async def aforward(self) -> Any:
                WITNESS.nodes += 1
                return dspy.Prediction()

        class Above(dspy.Module):
            def __init__(self) -> None:
                super().__init__()
                self.nothing = Nothing()

            async def aforward(self, number: int) -> Any:
                self.began = time.process_time()
                await asyncio.gather(*[self.nothing.acall() for _ in range(number)])
                return dspy.Prediction()

        above = Above()

        def seconds(number: int) -> float:
            asyncio.run(above.acall(number=number))
            return time.process_time() - above.began

        return seconds

    def state(self, depth: int) -> Callable[[], Mapping[str, Any]]:
        class Around(dspy.Module):
            def __init__(self, level: int, inner: Any) -> None:
                super().__init__()
                self.inner, self.own = inner, Asked(lambda results: greeting(level)).module

            def forward(self, question: str) -> Any:
                if self.inner is not None:
                    self.inner(question=question)
                answer = self.own(question=question).answer
                self.own.demos.append(dspy.Example(question=question, answer=answer))
                return dspy.Prediction(answer=answer)

        one = None
        for level in range(depth + 1):
            one = Around(level, one)
        one(question="go")
        return one.dump_state

    def served(self, url: str, tools: Sequence[Any] = (), *, streams: bool | None = None) -> Any:
        lm = dspy.LM("openai/served", api_base=url, api_key="k", cache=False)
        signature = "question: str -> answer: str"
        module = ReActV2(signature, list(tools)) if tools else dspy.Predict(signature)
        module.set_lm(lm)
        return module

    async def arun_served(self, agent: Any, text: str, session: str) -> str:
        return (await agent.acall(question=text)).answer

    async def aclose(self, agent: Any) -> None:
        await agent.get_lm().aclose()

    def errors(self) -> tuple[type[BaseException], ...]:
        from dspy.utils.exceptions import DSPyError
        from openai import OpenAIError

        return (DSPyError, OpenAIError)
