"""A server of ours with what the official conformance kit wants to find: `_everything.py PORT`, without a token."""

from __future__ import annotations

import sys
from base64 import b64decode
from typing import Any, Literal

from mcp.types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ListRootsRequest,
    SamplingMessage,
    TextContent,
)

from trivium import Message
from trivium.actions import report_progress
from trivium.exceptions import ToolError
from trivium.mcp import MCPContent, ToolServer, ask_client, client_can

PNG = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
WAV = b64decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
IMAGE = MCPContent("", data=PNG, mime_type="image/png")


def form(message: str, **kinds: str) -> ElicitRequest:
    properties = {name: {"type": kind} for name, kind in kinds.items()}
    schema = {"type": "object", "properties": properties, "required": list(kinds)}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def typed(answer: Any, name: str) -> Any:
    """What was typed into a field of a form."""
    content: dict[str, Any] = answer.content or {}
    return content.get(name)


def sampling(text: str) -> CreateMessageRequest:
    said = SamplingMessage(role="user", content=TextContent(text=text))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[said], max_tokens=100))


def test_simple_text() -> str:
    """Return a text."""
    return "This is a simple text response for testing."


def test_image_content() -> MCPContent:
    """Return an image."""
    return IMAGE


def test_audio_content() -> MCPContent:
    """Return a sound."""
    return MCPContent("", data=WAV, mime_type="audio/wav")


def test_embedded_resource() -> MCPContent:
    """Return a resource."""
    return MCPContent("test://embedded-resource", "This is an embedded resource content.", mime_type="text/plain")


def test_multiple_content_types() -> list[str | MCPContent]:
    """Return a text, an image and a resource."""
    resource = MCPContent("test://mixed-content-resource", '{"test":"data","value":123}', mime_type="application/json")
    return ["Multiple content types test:", IMAGE, resource]


def test_error_handling() -> str:
    """Fail."""
    raise ToolError("This tool intentionally returns an error for testing")


def test_tool_with_progress() -> str:
    """Report how far it is."""
    for done in (0, 50, 100):
        report_progress(done, 100)
    return "done"


def test_input_required_result_elicitation() -> str:
    """Ask for a name."""
    answer = ask_client(user_name=form("What is your name?", name="string"))["user_name"]
    return f"Hello, {typed(answer, 'name')}!"


def test_input_required_result_sampling() -> str:
    """Ask the client's model."""
    return ask_client(capital_question=sampling("What is the capital of France?"))["capital_question"].content.text


def test_input_required_result_list_roots() -> list[str]:
    """Ask for the client's folders."""
    return [str(each.uri) for each in ask_client(client_roots=ListRootsRequest())["client_roots"].roots]


def test_input_required_result_request_state() -> str:
    """Ask for a confirmation."""
    return ask_client(confirm=form("Please confirm", ok="boolean"))["confirm"].action


def test_input_required_result_tampered_state() -> str:
    """Ask for a confirmation."""
    return test_input_required_result_request_state()


def test_input_required_result_multiple_inputs() -> list[str]:
    """Ask for three things at once."""
    answers = ask_client(
        user_name=form("What is your name?", name="string"),
        greeting=sampling("Generate a greeting"),
        client_roots=ListRootsRequest(),
    )
    return list(answers)


def test_input_required_result_multi_round() -> str:
    """Ask twice."""
    name = ask_client(step1=form("Step 1: What is your name?", name="string"))["step1"].content["name"]
    return f"{name} {ask_client(step2=form('Step 2: What is your favorite color?', color='string'))['step2'].action}"


def test_input_required_result_capabilities() -> str:
    """Ask for what the client can do."""
    questions = {"greeting": sampling("Generate a greeting")} if client_can("sampling") else {}
    if client_can("elicitation"):
        return str(ask_client(**questions, user_name=form("What is your name?", name="string")))
    return str(ask_client(**questions))


def test_missing_capability() -> str:
    """Ask the client's model."""
    return test_input_required_result_sampling()


def test_streaming_elicitation() -> str:
    """Ask for a name."""
    return test_input_required_result_elicitation()


def test_logging_tool() -> str:
    """Return a text."""
    return "nothing is logged to clients"


TOOLS = [each for name, each in list(globals().items()) if name.startswith("test_")]


def of_id(id: str) -> str:
    """Data of an id."""
    return f'{{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}}'


def test_simple_prompt() -> str:
    """Take nothing."""
    return "This is a simple prompt for testing."


def test_prompt_with_arguments(arg1: Literal["hello", "testValue1"] | str, arg2: str) -> str:
    """Take two texts."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


def test_prompt_with_embedded_resource(resourceUri: str) -> list[MCPContent | str]:
    """Take an address."""
    found = MCPContent(resourceUri, "Embedded resource content for testing.", mime_type="text/plain")
    return [found, "Please process the embedded resource above."]


def test_prompt_with_image() -> list[MCPContent | Message]:
    """Take nothing."""
    return [IMAGE, Message(content="Please analyze the image above.")]


def test_input_required_result_prompt() -> str:
    """Ask for a context."""
    answer = ask_client(user_context=form("What context should the prompt use?", context="string"))["user_context"]
    return f"Use {typed(answer, 'context')}."


PROMPTS = [
    test_simple_prompt,
    test_prompt_with_arguments,
    test_prompt_with_embedded_resource,
    test_prompt_with_image,
    test_input_required_result_prompt,
]
RESOURCES = {
    "test://static-text": "This is the content of the static text resource.",
    "test://static-binary": MCPContent("test://static-binary", data=PNG, mime_type="image/png"),
    "test://template/{id}/data": of_id,
}

if __name__ == "__main__":
    server = ToolServer(TOOLS, port=int(sys.argv[1]), token="", resources=RESOURCES, prompts=PROMPTS)
    server.serve(lambda: print(server.port, flush=True))
