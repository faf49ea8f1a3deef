"""Methods in two forms: sync on an action, async on its twin, and tools in both forms."""

from __future__ import annotations

import asyncio

import pytest

from trivium.actions import ActionExecutor, AsyncActionMixin, BaseAction, Tool, dual, tool_api
from trivium.commander import driver_neutral
from trivium.schema import Message


class Shop(BaseAction):
    """A shop."""

    @dual
    @tool_api
    async def price(self, thing: str, count: int = 1) -> float:
        """What a thing costs.

        Args:
            thing: which one.
            count: how many.
        """
        await asyncio.sleep(0)
        return 1.5 * count

    @dual
    @tool_api
    @driver_neutral
    async def label(self, thing: str) -> str:
        """What stands on a thing."""
        return f"<{thing}>"


class AsyncShop(AsyncActionMixin, Shop):
    """The same, awaited."""


class Cheap(Shop):
    def price(self, thing: str, count: int = 1) -> float:  # pyright: ignore[reportIncompatibleVariableOverride, reportIncompatibleMethodOverride] # fmt: skip
        return 0.0


def test_a_dual_method_is_plain_on_the_action() -> None:
    assert (Shop().price("tea", count=2), Shop().label("tea")) == (3.0, "<tea>")


def test_a_dual_method_is_plain_inside_a_running_loop_too() -> None:
    async def main() -> float:
        return Shop().price("tea")

    assert asyncio.run(main()) == 1.5


def test_a_dual_method_is_awaited_on_the_async_twin() -> None:
    async def main() -> None:
        shop = AsyncShop()
        assert (await shop.price("tea", count=2), await shop.label("tea")) == (3.0, "<tea>")
        assert (await shop({"thing": "tea"}, "price")).format_result() == "1.5"

    asyncio.run(main())


@pytest.mark.parametrize("kind", [Shop, AsyncShop])
def test_its_tools_are_the_same_for_both(kind: type[Shop]) -> None:
    tools = kind().tools()
    assert [tool.name for tool in tools] == [f"{kind.__name__}.price", f"{kind.__name__}.label"]
    assert tools[0].spec.description == "What a thing costs."
    assert tools[0].spec.parameters["properties"]["thing"] == {"type": "string", "description": "which one."}
    assert Tool.of(kind().price).name == "price"
    executor = ActionExecutor(kind())
    call = Message(content={"name": f"{kind.__name__}.price", "parameters": {"thing": "tea"}})
    assert executor(call).content.format_result() == "1.5"


def test_a_subclass_may_write_it_plainly() -> None:
    assert Cheap()({"thing": "tea"}, "price").format_result() == "0.0"
