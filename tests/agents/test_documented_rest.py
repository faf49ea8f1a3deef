"""Answers of a type, models by their documented methods, and the small names that no other test shows."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

import trivium as lr
from tasks._documented import content, document, scripted
from trivium import ChatAgent, ChatDocument, Entity, ExceptionHandling, Task
from trivium.exceptions import LangroidImportError
from trivium.language_models import MockLM, MockLMConfig
from trivium.schema import ChatDocMetaData, LLMFunctionSpec


class Person(BaseModel):
    name: str
    age: int


ADA = '{"name": "Ada", "age": 36}'


# ---- typed answers
@pytest.mark.shows("ChatAgent[T]", "ChatDocument.content_any", "Agent.from_ChatDocument")
def test_an_agent_in_brackets_answers_with_a_value_of_that_type_and_the_agent_itself_does_not():
    agent = scripted(ADA)
    typed = agent[Person]
    assert isinstance(typed, ChatAgent)
    answer = typed.llm_response("who?")
    assert answer is not None
    assert answer.content_any == Person(name="Ada", age=36)
    assert typed.from_ChatDocument(answer, Person) == Person(name="Ada", age=36)
    plain = agent.llm_response("who?")
    assert plain is not None
    assert (plain.content, plain.content_any) == (ADA, None)


@pytest.mark.shows("ChatAgent.set_output_format")
def test_the_type_of_all_answers_is_set_and_taken_away():
    agent = scripted(ADA)
    agent.set_output_format(Person)
    first = agent.llm_response("who?")
    assert first is not None
    assert first.content_any == Person(name="Ada", age=36)
    assert "age" in str(agent.llm.requests[-1].output_schema), "the model is held to the schema"
    agent.set_output_format(None)
    second = agent.llm_response("who?")
    assert second is not None
    assert (second.content_any, agent.llm.requests[-1].output_schema) == (None, None)


@pytest.mark.shows("Task[T]", "Task.run(return_type)", "ChatAgent.set_output_format")
def test_a_task_of_a_typed_agent_gives_the_value():
    agent = scripted(ADA)
    agent.set_output_format(Person)
    task = Task(agent, interactive=False, single_round=True)
    assert task[Person].run("who?") == Person(name="Ada", age=36)
    assert task.run("who?", return_type=Person) == Person(name="Ada", age=36)


@pytest.mark.shows("ChatAgent.tool_instructions_added=False")
def test_what_the_model_is_told_about_tools_is_never_put_in_once_for_all():
    agent = scripted("x", use_tools=True)
    assert agent.tool_instructions_added is False
    agent.llm_response("hi")
    assert agent.tool_instructions_added is False


# ---- values of a message
@pytest.mark.shows("ChatDocument.oai_tool_id2result", "ChatDocument(data)")
def test_a_message_carries_the_results_of_several_calls_by_their_ids():
    results = {"call-1": "9", "call-2": "16"}
    doc = ChatDocument(content="", oai_tool_id2result=results, metadata=ChatDocMetaData(sender=Entity.AGENT))
    assert doc.oai_tool_id2result is not None
    assert list(doc.oai_tool_id2result.items()) == list(results.items())
    assert document("x").oai_tool_id2result is None


@pytest.mark.shows("ChatDocument.oai_tool_choice")
def test_a_message_says_how_the_model_may_choose_among_tools():
    assert document("x").oai_tool_choice == "auto"
    doc = ChatDocument(content="x", oai_tool_choice="none", metadata=ChatDocMetaData(sender=Entity.LLM))
    assert doc.oai_tool_choice == "none"


@pytest.mark.shows(
    "LLMFunctionSpec", "LLMFunctionSpec.name", "LLMFunctionSpec.description", "LLMFunctionSpec.parameters"
)
def test_a_function_is_described_to_a_model_by_name_words_and_schema():
    parameters = {"type": "object", "properties": {"number": {"type": "integer"}}}
    spec = LLMFunctionSpec(name="square", description="To square.", parameters=parameters)
    dumped = spec.model_dump()
    assert dumped == {"name": "square", "description": "To square.", "parameters": parameters}
    with pytest.raises(ValueError, match="description"):
        LLMFunctionSpec.model_validate({"name": "square", "parameters": parameters})


# ---- models
@pytest.mark.shows("LanguageModel.generate", "LanguageModel.agenerate", "MockLMConfig.response_dict")
def test_a_model_completes_a_text_in_either_form():
    model = MockLM(MockLMConfig(response_dict={"a": "b"}))
    assert model.generate("a", 9).message == asyncio.run(model.agenerate("a", 9)).message == "b"


@pytest.mark.shows("LanguageModel.get_stream", "LLMConfig.stream")
def test_a_model_says_whether_it_streams():
    model = MockLM(MockLMConfig(response_dict={"a": "b"}))
    model.set_stream(False)
    assert model.get_stream() is False
    assert isinstance(model.set_stream(True), bool)


# ---- callbacks, batches, errors
@pytest.mark.shows("Agent.callbacks.show_start_response")
def test_who_begins_to_answer_is_told():
    begun: list[str] = []
    agent = scripted("DONE")

    def show(entity: str) -> None:
        begun.append(entity)

    agent.callbacks.show_start_response = show
    assert content(Task(agent, interactive=False).run("go")) == ""
    assert "llm" in begun


@pytest.mark.shows("run_batch_task_gen", "run_batch_task_gen(gen_task)")
@pytest.mark.shows("run_batch_task_gen(handle_exceptions=ExceptionHandling.RAISE)", "ExceptionHandling.RETURN_NONE")
@pytest.mark.shows("ExceptionHandling.RAISE", "ExceptionHandling.RETURN_EXCEPTION")
def test_a_batch_makes_its_tasks_itself_and_does_with_errors_as_told():
    from trivium.tasks import run_batch_task_gen

    class Failing(ChatAgent):
        def llm_response(self, message: Any = None) -> Any:
            raise ZeroDivisionError("on purpose")

    made: list[int] = []

    def task(number: int) -> Task:
        made.append(number)
        agent = scripted(f"DONE {number}") if number != 1 else Failing(lr.ChatAgentConfig(name="F", llm=None))
        return Task(agent, interactive=False)

    def run(**options: Any) -> list[Any]:
        return run_batch_task_gen(task, ["a", "b", "c"], **options)

    found = run(handle_exceptions=ExceptionHandling.RETURN_NONE)
    assert (content(found[0]), found[1], content(found[2])) == ("0", None, "2")
    assert sorted(made) == [0, 1, 2]
    assert isinstance(run(handle_exceptions=ExceptionHandling.RETURN_EXCEPTION)[1], ZeroDivisionError)
    for options in ({}, {"handle_exceptions": ExceptionHandling.RAISE}):
        with pytest.raises(ZeroDivisionError):
            run(**options)


@pytest.mark.shows("LangroidImportError", "exceptions.LangroidImportError", "LangroidImportError(package=None)")
@pytest.mark.shows("LangroidImportError(extra=None)", "LangroidImportError(error='')", "LangroidImportError(*args)")
def test_a_package_that_is_missing_is_an_import_error_that_says_how_to_get_it():
    assert lr.LangroidImportError is LangroidImportError
    error = LangroidImportError("redis", "kill")
    assert isinstance(error, ImportError)
    for part in ("redis", "pip install", "kill"):
        assert part in str(error)
    assert "my own words" in str(LangroidImportError("redis", ["a", "b"], "my own words"))
    assert "a" in str(LangroidImportError(package="redis", extra=["a", "b"]))
    assert LangroidImportError("redis", None, "", 7).args[-1] == 7
    assert str(LangroidImportError()) != ""
