"""Templates and tools. Agere has them in its repository; its last release has none."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from ._answers import call, chunks, finish, text
from ._script import Run, script


# ---- templates
def template(on: Run, words: str) -> Any:
    return on.named("utils.prompt_template", "PromptTemplate")(words)


@script
def a_template_is_rendered(on: Run) -> Any:
    made = template(on, "Hello, {{ name }}! It is {{day}}.")
    on.say(made.unfilled_variables, made.is_fully_filled())
    on.say(made.render(name="Ada").render(day="Friday").prompt)
    return [made.unfilled_variables, made.is_fully_filled()]


@script
def a_template_that_is_not_full(on: Run) -> Any:
    made = template(on, "Hello, {{ name }}! It is {{day}}.").render(name="Ada")
    try:
        on.say(made.prompt)
    except Exception as error:
        on.say(type(error).__name__)
    return [str(made), made.unfilled_variables]


@script
def a_template_is_given_too_much(on: Run) -> Any:
    return str(template(on, "Hello, {{ name }}!").render(name="Ada", day="Friday"))


@script
def a_value_that_looks_like_a_variable(on: Run) -> Any:
    made = template(on, "{{ a }} and {{ b }}").render(a="{{ b }}")
    return str(made.render(b="b"))


@script
def values_of_a_template_are_written_as_text(on: Run) -> Any:
    return str(template(on, "{{ a }} {{ b }} {{ c }}").render(a=1, b=None, c=[1, "x"]))


@script
def functions_for_templates(on: Run) -> Any:
    render, full, unfilled = (
        on.named("utils.prompt_template", name)
        for name in ("render_prompt", "is_prompt_fully_filled", "find_unfilled_variables")
    )
    words = "{{ a }} {b} {{c d}} {{ e_1 }} {{ a }}"
    return [render(words, a="A"), full(words), full("{a}"), unfilled(words)]


# ---- tools
def manager(on: Run) -> Any:
    model = on.named("utils.tool_models", "OpenaiToolModel")(tool_token_counter=len)
    return on.named("utils.tool", "ToolsManager")(tool_model=model)


def tools(on: Run, *names: str) -> list[Any]:
    """Tools of these names that double a number."""

    def made(name: str) -> Any:
        def function(number: int) -> int:
            """Double a number.

            Args:
                number (integer): The number to double.
            """
            return 2 * number

        function.__name__ = name
        return on.named("utils.tool", "tool")(function)

    return [made(name) for name in names]


@script
def tools_are_added_and_removed(on: Run) -> Any:
    made, (one, two, three) = manager(on), tools(on, "one", "two", "three")
    made.add_tool(one, tool_type="PERMANENT")
    made.add_tools([two, three])
    on.say(sorted(made.all_tools_names))
    made.remove_tool("two")
    made.remove_tool("nobody")
    on.say(sorted(made.all_tools_names))
    made.clear_tools()
    on.say(made.all_tools_names)
    made.clear_tools("PERMANENT")
    return made.all_tools_names


@script
def tools_are_registered(on: Run) -> Any:
    made, (one, two) = manager(on), tools(on, "one", "two")
    made.register_tools([one, two])
    on.say(made.registered_tool_names, [each.name for each in made.get_tools_metadata()])
    on.say([each.name for each in made.get_tools_metadata(by_names=["two"])])
    made.unregister_tools([one])
    on.say(made.registered_tool_names)
    made.clear_registered_tools()
    return made.registered_tool_names


@script
def tools_by_their_type(on: Run) -> Any:
    made, (one, two) = manager(on), tools(on, "one", "two")
    made.add_tool(one, "PERMANENT")
    made.add_tool(two, "TEMPORARY")
    for types in ("ALL", ["PERMANENT"], ["TEMPORARY"], []):
        on.say(types, [each.name for each in made.get_tools_metadata(by_types=types)])


@script
def the_function_of_a_tool(on: Run) -> Any:
    made = manager(on)
    made.add_tools(tools(on, "one"))
    on.tried(lambda: made.get_linked_tool("nobody"), ValueError)
    return made.get_linked_tool("one")(21)


@script
def what_is_known_of_a_tool(on: Run) -> Any:
    made, (one,) = manager(on), tools(on, "one")
    found = made.create_tool_metadata(one)
    return [found.name, found.description, found.linked_tool(3), found.tool_kit]


@script
def the_parameters_of_a_tool(on: Run) -> Any:
    made, (one,) = manager(on), tools(on, "one")
    return made.create_tool_metadata(one).parameters


@script
def tools_in_a_kit(on: Run) -> Any:
    kit = on.named("utils.tool", "ToolKit")("arithmetic")
    on.named("utils.tool", "tool_kit")(kit, description="Numbers.")(tools(on, "one")[0])
    made = manager(on)
    made.register_tool(kit)
    on.say(kit.name, kit.description, [each.__name__ for each in kit.tools])
    on.say([each.name for each in made.get_tools_metadata(by_names=[kit])])
    made.unregister_tools([kit])
    return made.registered_tool_names


@script
def a_function_that_is_no_tool(on: Run) -> Any:
    def plain(number: int) -> int:
        return number

    made = manager(on)
    try:
        made.add_tool(plain)
    except Exception as error:
        on.say(type(error).__name__)
    return made.all_tools_names


@script
def the_manual_of_tools(on: Run) -> Any:
    made = manager(on)
    made.add_tools(tools(on, "one", "two"))
    found = made.get_tools_manual()
    on.say([(each["type"], each["function"]["name"], each["function"]["description"]) for each in found])
    return [each["function"]["parameters"]["required"] for each in found]


@script
def the_schema_in_the_manual_of_tools(on: Run) -> Any:
    made = manager(on)
    made.add_tools(tools(on, "one"))
    parameters = made.get_tools_manual()[0]["function"]["parameters"]
    return sorted(parameters.get("properties", {}))


@script
async def an_answer_to_tools(on: Run) -> Any:
    answer = [*text("I add.", 1000), *call("one", '{"number": 1}', 1000), finish("tool_calls")]
    adapter: Any = on.named("utils.llm_async_converters", "LLMAsyncAdapter")()
    make = await manager(on).parse_response(adapter.llm_to_async_iterable(response=chunks(answer)))
    on.say("".join([piece async for piece in make("to_user")]))
    return [json.loads(each) async for each in make("tool_call")]


# ---- tools of a model without an interface for them
def custom(on: Run, words: str = "Tools: {{ tools }}") -> Any:
    def bead(manual: str) -> dict[str, str]:
        return {"role": "system", "content": manual}

    model = on.named("utils.tool_models", "CustomToolModel")(tool_bead_maker=bead, custom_tool_manual_template=words)
    return on.named("utils.tool", "ToolsManager")(tool_model=model)


@script
def the_kind_of_a_tool_model(on: Run) -> Any:
    return [[made.tool_model_name, made.tool_model_type] for made in (manager(on), custom(on))]


@script
def tools_are_described_in_a_bead(on: Run) -> Any:
    made = custom(on)
    beads = made.wrap_tools_to_bead(tools(on, "one"))
    told = json.loads(beads[0]["content"].removeprefix("Tools: "))
    return [len(beads), beads[0]["role"], [each["name"] for each in told]]


@script
def the_manual_is_for_one_kind_of_model(on: Run) -> Any:
    on.tried(lambda: custom(on).tools_manual_token_num(), ValueError)
    on.tried(lambda: manager(on).wrap_tools_to_bead([]), ValueError)


async def said(on: Run, words: str, size: int) -> None:
    """The answer of a model that writes its calls in the text, between tags as Agere's manual asks for."""

    async def pieces() -> AsyncIterator[str]:
        for at in range(0, len(words), size):
            yield words[at : at + size]

    make = await custom(on).parse_response(pieces())
    on.say("to the user", repr("".join([piece async for piece in make("to_user")])))
    on.say("calls", [each async for each in make("tool_call")])


@script
async def a_text_of_a_model_without_tools(on: Run) -> None:
    await said(on, "It is 1 < 2.", 5)


@script
async def a_call_in_the_text_of_a_model(on: Run) -> None:
    await said(on, 'I add. <tool>{"name": "add", "parameters": {"a": 1}}</tool> Done.', 4)


@script
def a_context_with_tools(on: Run) -> Any:
    made = custom(on, "T:{{ tools }}")
    made.add_tools(tools(on, "one"))
    model = on.named("utils.context_models", "OpenaiContextModel")(token_counter=lambda piece: 1)  # pyright: ignore[reportUnknownLambdaType]
    context: Any = on.named("utils.context", "Context")(context_model=model, tools_manager=made)
    for words in ("one", "two", "three"):
        context.context_append({"role": "user", "content": words})
    return [each["content"][:3] for each in context.context_sending()]
