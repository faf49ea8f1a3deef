"""Actions: how they are described, what they are called with, and what they give."""

# Users' programs have few types.
# pyright: basic

from __future__ import annotations

from typing import Annotated, Any

from ._script import Run, script


def bold(on: Run) -> Any:
    class Bold(on.BaseAction):
        """Make text bold"""

        def run(self, text: str, times: int = 1) -> str:
            """Make a text bold.

            Args:
                text (str): the text
                times (int): how often

            Returns:
                str: the bold text
            """
            return "**" * times + text + "**" * times

    class AsyncBold(on.BaseAction):
        """Make text bold"""

        async def run(self, text: str, times: int = 1) -> str:
            """Make a text bold.

            Args:
                text (str): the text
                times (int): how often

            Returns:
                str: the bold text
            """
            return "**" * times + text + "**" * times

    return AsyncBold if on.is_async else Bold


def calculator(on: Run) -> Any:
    tool_api = on.actions.tool_api

    class Calculator(on.actions.BaseAction):
        """Calculate."""

        @tool_api
        def add(self, a: int, b: int) -> int:
            """Add two numbers.

            Args:
                a (int): the first
                b (int): the second
            """
            return a + b

        @tool_api
        def divide(self, a: float, b: float = 1.0) -> float:
            """Divide two numbers."""
            return a / b

    return Calculator


def shown(on: Run, returned: Any) -> None:
    on.say({**on.plain(returned), "state": on.plain(returned.state), "valid": on.plain(returned.valid)})


@script
def a_tool_is_described(on: Run) -> Any:
    made = bold(on)()
    on.say(made.name.removeprefix("Async"), made.is_toolkit)
    on.say({**made.description, "name": ""})


@script
def a_toolkit_is_described(on: Run) -> Any:
    made = calculator(on)()
    on.say(made.name, made.is_toolkit, made.description)


@script
def a_function_is_described(on: Run) -> Any:
    @on.actions.tool_api
    def search(
        self: Any,
        query: Annotated[str, "what to look for"],
        limit: int,
        rate: float = 1.0,
        exact: bool = False,
        sites: list[str] | None = None,
        other: Any = None,
    ) -> str:
        """Search the web.

        Args:
            query (str): of the docstring
            limit (int): the most results
        """
        return query

    on.say(search.api_description)


@script
def a_return_is_described(on: Run) -> Any:
    tool_api = on.actions.tool_api

    class Kit(on.actions.BaseAction):
        """A kit."""

        @tool_api(explode_return=True)
        def both(self, a: int) -> dict[str, Any]:
            """Both.

            Returns:
                dict: the parts
                    * x (int): the first
                    * y (str): the second
            """
            return {"x": a, "y": str(a)}

        @tool_api(returns_named_value=True)
        def named(self, a: int) -> int:
            """Named.

            Returns:
                total (int): the sum
            """
            return a

    on.say(Kit().description)


@script
def a_tool_without_a_docstring(on: Run) -> Any:
    class Bare(on.actions.BaseAction):
        def run(self, a: Any, b: Any = 1) -> Any:
            return f"{a}{b}"

    on.tried(lambda: on.say(Bare().description))
    shown(on, Bare()('{"a": 1}'))


@script
def a_description_of_ones_own(on: Run) -> Any:
    described = {
        "name": "Strong",
        "description": "d",
        "parameters": [{"name": "text", "type": "STRING"}],
        "required": ["text"],
    }
    made = bold(on)(description=described)
    on.say(made.name, made.description)
    shown(on, on.awaited(made('{"text": "x"}')))
    shown(on, on.awaited(made('{"text": "x", "times": 2}')))


@script
def a_description_that_is_wrong(on: Run) -> Any:
    described = {"name": "Bold", "description": "d", "parameters": [], "required": ["text"]}
    on.tried(lambda: bold(on)(description=described), ValueError)
    on.tried(lambda: bold(on)(description={"name": "Bold"}), KeyError, ValueError)


@script
def run_and_apis_do_not_go_together(on: Run) -> Any:
    def make() -> None:
        class Both(on.actions.BaseAction):
            """Both."""

            @on.actions.tool_api
            def run(self, a: int) -> int:
                """Run."""
                return a

            @on.actions.tool_api
            def api(self, a: int) -> int:
                """Api."""
                return a

    on.tried(make, KeyError)


@script
def a_tool_is_called(on: Run) -> Any:
    made = bold(on)()
    for inputs in ('{"text": "x"}', {"text": "x", "times": 2}, '```json\n{"text": "x"}\n```', ' {"text": "ü"} \n```'):
        shown(on, on.awaited(made(inputs)))


@script
def a_tool_is_called_with_bad_inputs(on: Run) -> Any:
    made = bold(on)()
    for inputs in ("{", "x", '{"times": 1}', {"text": "x", "more": 1}, {}, "[1]"):
        on.tried(lambda inputs=inputs: shown(on, on.awaited(made(inputs))))


@script
def a_toolkit_is_called(on: Run) -> Any:
    made = calculator(on)()
    shown(on, made('{"a": 1, "b": 2}', "add"))
    shown(on, made({"a": 1}, name="divide"))
    shown(on, made({"a": 1, "b": 0}, "divide"))
    on.tried(lambda: shown(on, made({"a": 1}, "multiply")))
    on.tried(lambda: shown(on, made({"a": 1})))


@script
def what_tools_give(on: Run) -> Any:
    class Gives(on.actions.BaseAction):
        """Give."""

        def run(self, what: str) -> Any:
            """Give.

            Args:
                what (str): which
            """
            values: dict[str, Any] = {"dict": {"ü": 1}, "list": [1, "a"], "none": None, "number": 1.5, "bool": True}
            return values.get(what, what)

    for what in ("dict", "list", "none", "number", "bool", "", "ñ 😀"):
        shown(on, Gives()({"what": what}))


@script
def a_tool_gives_a_return(on: Run) -> Any:
    class Gives(on.actions.BaseAction):
        """Give."""

        def run(self, a: int) -> Any:
            """Give."""
            made = on.schema.ActionReturn(url="u", result=[{"type": "image", "content": "p"}], thought="t")
            if a:
                made.type, made.args = "Other", {"b": a}
            return made

    shown(on, Gives()({"a": 0}))
    shown(on, Gives()({"a": 1}))


@script
def a_tool_that_fails(on: Run) -> Any:
    class Fails(on.actions.BaseAction):
        """Fail."""

        def run(self, a: int) -> Any:
            """Fail."""
            raise KeyError("no") if a else ValueError()

    shown(on, Fails()({"a": 1}))
    shown(on, Fails()({"a": 0}))


@script
def a_tool_with_state(on: Run) -> Any:
    class Counts(on.actions.BaseAction):
        """Count."""

        def __init__(self, start: int, description: Any = None, parser: Any = on.actions.JsonParser) -> None:
            super().__init__(description, parser)
            self.count = start

        def run(self) -> int:
            """Count."""
            self.count += 1
            return self.count

    made = Counts(3)
    shown(on, made("{}"))
    shown(on, made({}))


@script
def other_parsers_of_inputs(on: Run) -> Any:
    made = bold(on)(parser=on.actions.TupleParser)
    for inputs in ("('x', 2)", ("x",), "()", "('a', 1, 2)", "x"):
        on.tried(lambda inputs=inputs: shown(on, on.awaited(made(inputs))))
    on.say(made.description["parameter_description"])
    plain = bold(on)(parser=on.actions.BaseParser)
    shown(on, on.awaited(plain("any text")))
    on.say(plain.description.get("parameter_description"))


@script
def a_parser_of_inputs_of_ones_own(on: Run) -> Any:
    class Lines(on.actions.BaseParser):
        PARAMETER_DESCRIPTION = "One a line."

        def parse_inputs(self, inputs: str, name: str = "run") -> dict[str, Any]:
            return dict(line.split("=") for line in inputs.splitlines())

        def parse_outputs(self, outputs: Any) -> list[dict[str, Any]]:
            return [{"type": "html", "content": f"<b>{outputs}</b>"}]

    made = bold(on)(parser=Lines)
    shown(on, on.awaited(made("text=x")))
    on.say(made.description["parameter_description"])


@script
def a_tool_below_a_tool(on: Run) -> Any:
    class Bolder(bold(on)):
        """Bolder."""

        async def run(self, text: str) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
            """Make it bolder."""
            return f"!!{text}!!"

    class SyncBolder(bold(on)):
        """Bolder."""

        def run(self, text: str) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
            """Make it bolder."""
            return f"!!{text}!!"

    made = (Bolder if on.is_async else SyncBolder)()
    on.say(made.description["description"], made.description["required"])
    shown(on, on.awaited(made({"text": "x"})))


@script
def the_shipped_actions(on: Run) -> Any:
    for name in ("InvalidAction", "NoAction", "FinishAction"):
        made = getattr(on.actions, name)()
        on.say(made.name, made.is_toolkit, {**made.description, "description": ""})
        shown(on, made("said"))
    shown(on, on.actions.InvalidAction("Sorry.")(None))
    shown(on, on.actions.NoAction(err_msg="Sorry.")(None))


@script
def a_tool_is_printed(on: Run) -> Any:
    on.say(str(calculator(on)()) == str(calculator(on)().description))


@script
def a_methods_own_call(on: Run) -> Any:
    made = calculator(on)()
    on.say(made.add(1, 2), made.divide(1), made.add.api_description["name"])
    on.say(on.awaited(bold(on)().run("x")))


@script
def a_return_is_described_below_its_type(on: Run) -> Any:
    class Kit(on.BaseAction):
        """A kit."""

        @on.actions.tool_api(explode_return=True)
        def sums(self, flag: bool = False) -> dict:
            """Add up.

            Args:
                flag (:class:`bool`): whether

            Returns:
                :class:`dict`: the sums
                    * total: all of it
                    * count (:class:`int`): how many
            """
            return {"total": 1, "count": 1}

    on.say(Kit().description)


@script
def lists_are_described(on: Run) -> Any:
    class Lists(on.BaseAction):
        def run(self, plain: Any, texts: Any, bare: Any) -> str:
            """Take lists.

            Args:
                bare (list[int]): numbers
            """
            return "x"

        run.__annotations__.update(plain=list, texts=list[str])
        del run.__annotations__["bare"]

    on.say(Lists().description)
