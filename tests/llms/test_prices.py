"""What tokens cost: prices that users state, prices that are published, and what a run has cost in all."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium import Agent, ChatAgent, Limits, Message, Module, StatusCode, Task
from trivium.commander import driver_neutral, gather
from trivium.exceptions import ConfigurationError, LimitExceededError
from trivium.language_models.model_info import get_model_info
from trivium.llms import (
    ClaudeAPI,
    CostLimiter,
    FallbackModel,
    OpenAIModel,
    OverflowModel,
    Price,
    PublishedPrice,
    RateLimiter,
    Request,
)
from trivium.llms._prices import expected_usage, priced
from trivium.llms.wire._openai_chat import token_counts
from trivium.observers import RunRecord
from trivium.schema import ToolSpec, Usage
from trivium.testing import ScriptedModel, call_tool

counts = st.integers(0, 10**7)
dollars = st.floats(0, 1000)


@given(counts, counts, counts, counts, dollars, dollars, st.none() | dollars, st.none() | dollars)
def test_a_price_is_a_sum_of_its_parts_and_no_part_is_paid_twice(
    read: int, written: int, cached: int, kept: int, in_price: float, out_price: float, again: Any, keep: Any
) -> None:
    cost = Price(in_price, out_price, again, keep).usd(Usage(read, written, 0.0, cached, kept))
    cached = min(read, cached)
    kept = min(read - cached, kept)
    rest = (read - cached - kept) * in_price + written * out_price
    rest += cached * (in_price if again is None else again) + kept * (in_price if keep is None else keep)
    assert cost == pytest.approx(rest / 1e6)
    assert Price(in_price, out_price).usd(Usage(read, written)) == pytest.approx(
        Price(in_price, out_price, in_price, in_price).usd(Usage(read, written, 0.0, cached, kept))
    ), "what is not stated costs as much as any token read"


def test_longer_requests_may_have_another_price_for_all_of_their_tokens() -> None:
    price = Price(1.0, 4.0, above={200_000: Price(2.0, 6.0), 500_000: Price(3.0, 9.0)})
    millions = [price.usd(Usage(read)) * 1e6 / read for read in (200_000, 200_001, 600_000)]
    assert millions == pytest.approx([1.0, 2.0, 3.0])


def test_a_price_is_nothing_below_zero() -> None:
    with pytest.raises(ConfigurationError, match="million"):
        Price(1.0, -1.0)


def test_what_is_no_price_is_refused() -> None:
    prices: list[Any] = ["3", None]
    for each in prices:
        with pytest.raises(ConfigurationError, match="US dollars"):
            Price(each, 1.0)
    with pytest.raises(ConfigurationError, match="above="):
        Price(1.0, 1.0, above={10: 2.0})  # type: ignore[arg-type] - as a newcomer writes it
    with pytest.raises(ConfigurationError, match=r"usd\(usage\)"):
        ScriptedModel(["x"]).price = 3.0  # type: ignore[assignment] - as a newcomer writes it


@pytest.mark.parametrize(
    ("cost", "usd"), [(0.25, 0.25), ("0.25", 0.0), (-1, 0.0), (True, 0.0), (None, 0.0), ([1], 0.0)]
)
def test_a_cost_that_the_provider_tells_is_read(cost: Any, usd: float) -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "cost": cost}
    assert token_counts(usage, "prompt_tokens", "completion_tokens") == Usage(5, 2, usd)


@pytest.mark.parametrize("wrong", [{"tokens": float("nan")}, {"turns": "3"}, {"seconds": "1"}, {"usd": [1]}])
def test_a_limit_that_would_limit_nothing_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="Limits"):
        Limits(**wrong)


def test_published_prices_are_those_of_genai_prices_by_the_place_where_a_model_is_asked() -> None:
    from genai_prices import Usage as Counted
    from genai_prices import calc_price

    for model, provider in (
        (OpenAIModel("gpt-5-mini", api_key="k"), "openai"),
        (ClaudeAPI("claude-sonnet-4-6", key="k"), "anthropic"),
        (OpenAIModel("deepseek-chat", base_url="https://api.deepseek.com/v1"), "deepseek"),
    ):
        counted = Counted(input_tokens=1000, output_tokens=100, cache_read_tokens=400, cache_write_tokens=0)
        expected = calc_price(counted, model.name, provider_id=provider).total_price
        usage = priced(model, Usage(1000, 100, cached_tokens=400))
        assert usage.usd == pytest.approx(float(expected))
        assert usage.usd > 0
        assert (usage.input_tokens, usage.cached_tokens) == (1000, 400)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/v1", "http://gpu-box:8000/v1", "https://llm.example.com/v1"])
def test_a_server_that_nobody_knows_has_no_price(url: str) -> None:
    assert priced(OpenAIModel("gpt-5-mini", base_url=url), Usage(5, 5)).usd == 0.0


def test_a_model_that_nobody_knows_has_no_price_and_odd_counts_are_no_error() -> None:
    assert PublishedPrice("no-such-model", "openai").usd(Usage(5, 5)) is None
    assert PublishedPrice("gpt-5-mini", "no-such-provider").usd(Usage(5, 5)) is None
    odd = PublishedPrice("gpt-5-mini", "openai").usd(Usage(5, 5, 0.0, cached_tokens=50, cache_write_tokens=9))
    assert odd is not None
    assert odd > 0


def test_a_users_price_goes_before_the_published_one_and_a_cost_that_the_provider_tells_before_both() -> None:
    model = OpenAIModel("gpt-5-mini", api_key="k", price=Price(100.0, 0.0))
    assert priced(model, Usage(10_000)).usd == 1.0
    assert priced(model, Usage(10_000, usd=0.5)).usd == 0.5
    model.price = None
    assert 0 < priced(model, Usage(10_000)).usd < 0.5


def test_the_documented_names_take_their_prices_from_the_same_table() -> None:
    info = get_model_info("gpt-4o")
    prices = info.input_cost_per_million, info.cached_cost_per_million, info.output_cost_per_million
    assert prices == (2.5, 1.25, 10.0)
    assert PublishedPrice("gpt-4o", "openai").usd(Usage(1000, 100)) == pytest.approx((2500 + 1000) / 1e6)


def test_without_genai_prices_there_is_no_price_and_no_error() -> None:
    code = (
        "import sys; sys.modules['genai_prices'] = None\n"
        "from trivium.llms import PublishedPrice; from trivium.schema import Usage\n"
        "from trivium.language_models.model_info import get_model_info\n"
        "assert PublishedPrice('gpt-5-mini', 'openai').usd(Usage(1, 1)) is None\n"
        "assert get_model_info('gpt-4o').input_cost_per_million == 0.0"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_table_of_prices_is_not_loaded_for_a_server_of_this_machine() -> None:
    code = (
        "import sys\nfrom trivium.llms import OpenAIModel\nfrom trivium.llms._prices import priced\n"
        "from trivium.schema import Usage\n"
        "priced(OpenAIModel('m', base_url='http://localhost:1/v1'), Usage(1, 1))\n"
        "assert not any(name.startswith('genai_prices') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# ---- what a run has cost
class Broken:
    """Tells what it has used, and then breaks off."""

    name = "broken"
    price = Price(1.0, 1.0)

    def stream(self, request: Request) -> Any:
        yield Usage(1000, 0)
        raise ValueError("broken off")


def test_usage_and_price_are_summed_over_tools_agents_and_requests_that_failed() -> None:
    inner_model = ScriptedModel([["inner", Usage(500_000, 100_000)]])
    inner_model.price = Price(2.0, 10.0)
    inner = Agent(inner_model, name="inner")

    def ask() -> str:
        """Ask the other agent."""
        with pytest.raises(ValueError, match="broken"):
            Agent(Broken(), memory=False)("x")
        return inner("x").content

    outer_model = ScriptedModel([[call_tool("ask"), Usage(1_000_000, 0)], ["done", Usage(1_000_000, 100_000)]])
    outer_model.price = Price(1.0, 5.0)
    record = RunRecord()
    answer = Agent(outer_model, tools=[ask])("go", listeners=[record])
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (2_501_000, 200_000), "that of the whole call"
    assert answer.usage.usd == pytest.approx(4.501)
    (root,) = record.roots
    assert [node.name for node in root.children] == ["model", "tool:ask", "model"]
    assert root.children[1].usage.usd == pytest.approx(2.001)
    assert root.usage == record.usage
    assert (root.tokens, root.usage.usd) == (2_701_000, pytest.approx(1.0 + 2.001 + 1.5))


# ---- reserved before a request
class Fan(Module):
    """Asks many at once, and counts who was refused."""

    def __init__(self, agent: Agent, many: int) -> None:
        super().__init__()
        self.agent, self.many, self.refused = agent, many, 0

    @driver_neutral
    async def forward(self, message: Message) -> str:
        await gather(*[self.ask] * self.many)
        return "done"

    @driver_neutral
    async def ask(self) -> None:
        try:
            await self.agent.acall("x" * 400)
        except LimitExceededError:
            self.refused += 1


class Costly:
    """Uses what was asked of it at most, one token of the price of a cent each; it lets the others ask first."""

    name = "costly"
    price = Price(10_000.0, 10_000.0)

    def __init__(self, used: int) -> None:
        self.used, self.asked = used, 0

    async def stream(self, request: Request) -> AsyncIterator[Any]:

        self.asked += 1
        for _ in range(5):
            await asyncio.sleep(0)
        yield "yes"
        yield Usage(100, self.used)


@given(
    st.integers(1, 12),
    st.integers(0, 100),
    st.none() | st.integers(1, 12),
    st.none() | st.integers(50, 2000),
    st.none() | st.floats(0.5, 20),
)
def test_no_limit_is_ever_passed_however_many_ask_at_once(
    many: int, used: int, turns: int | None, tokens: int | None, usd: float | None
) -> None:
    model, record = Costly(used), RunRecord()
    fan = Fan(Agent(model, memory=False, parameters={"max_tokens": 100}), many)
    fan("go", limits=Limits(turns=turns, tokens=tokens, usd=usd), listeners=[record])
    spent = record.usage
    assert model.asked + fan.refused == many
    assert turns is None or model.asked <= turns
    assert tokens is None or spent.total <= tokens
    assert usd is None or spent.usd <= usd + 1e-6
    if turns is None and tokens is None and usd is None:
        assert fan.refused == 0
    elif fan.refused and turns is None:  # what was refused would not have fitted with what ran at its time
        room = min(tokens or 10**9, (usd or 10**9) * 100)
        assert (model.asked + 1) * 200 > room - model.asked * (200 - 100 - used)


def test_the_price_is_reserved_before_the_first_answer_has_shown_one() -> None:
    model = Costly(100)
    fan = Fan(Agent(model, memory=False, parameters={"max_tokens": 100}), 8)
    fan("go", limits=Limits(usd=5.0))
    assert (model.asked, fan.refused) == (2, 6), "a hundred tokens read and a hundred written are two dollars"


def test_where_the_price_is_not_known_a_limit_in_dollars_is_refused_and_nothing_is_asked() -> None:
    model = OpenAIModel("no-such-model", base_url="https://models.example.org/v1", api_key="k")
    for limits in (Limits(usd=1.0), Limits(usd=1.0, tokens=5)):
        with pytest.raises(ConfigurationError, match=r"price of no-such-model is not known.*Price\(.*PublishedPrice\("):
            Agent(model)("hi", limits=limits)


@pytest.mark.parametrize("host", ["192.0.2.2:8000", "10.0.0.5", "[2001:db8::1]", "litellm:4000", "gpu-box"])
def test_a_limiter_of_costs_refuses_a_gateway_whose_address_has_no_dotted_name(host: str) -> None:
    model = OpenAIModel("gpt-5", base_url=f"http://{host}/v1", api_key="k")
    with pytest.raises(ConfigurationError, match=r"price of gpt-5 is not known.*Price\(0, 0\) where it costs nothing"):
        CostLimiter(0.01, per="day").of(model).chat("hi")


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "127.0.1.1", "[::1]:8000", "LOCALHOST"])
def test_a_model_on_this_machine_costs_nothing(host: str) -> None:
    assert PublishedPrice("gpt-5", url=f"http://{host}/v1").usd(Usage(10**9)) == 0.0


def test_limits_are_inherited_and_each_level_counts_what_is_below_it() -> None:
    model = Costly(0)
    inner = Fan(Agent(model, memory=False), 3)

    class Outer(Module):
        def forward(self, message: Message) -> int:
            for _ in range(3):
                inner("x", limits=Limits(usd=2.5))
            return 1

    Outer()("x", limits=Limits(usd=4.0))
    assert model.asked == 4, "two, then two of the outer limit's rest, then none"


def test_what_a_request_will_use_is_its_text_its_files_its_tools_and_the_longest_answer() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 40_000}}
    text = {"type": "text", "text": "x" * 80}
    request = Request([{"role": "user", "content": [text, image]}])
    assert expected_usage(cast("Any", object()), request) == Usage(1020)
    tool = ToolSpec("f", "d" * 398, {})
    assert expected_usage(cast("Any", object()), Request([], [tool], parameters={"max_tokens": 7})) == Usage(100, 7)
    model = OpenAIModel("m", base_url="http://localhost/v1", parameters={"max_completion_tokens": 50})
    assert expected_usage(model, Request([])) == Usage(0, 50)


def test_a_model_made_of_models_reserves_what_the_dearest_of_them_may_take() -> None:
    cheap, dear = (OpenAIModel("m", base_url="http://localhost/v1", price=Price(0.0, usd)) for usd in (1.0, 1e6))
    cheap.gen_params = {"max_tokens": 50}
    chain = FallbackModel([cheap, (dear, {"max_tokens": 70}), "openai:looked-up-when-needed"])
    wrapped = OverflowModel(RateLimiter(10).of(chain), "drop_oldest")
    assert expected_usage(wrapped, Request([])) == Usage(0, 70)
    assert expected_usage(OverflowModel(cheap, "drop_oldest"), Request([], parameters={"max_tokens": 9})).total == 9
    with pytest.raises(LimitExceededError, match="usd"):
        Agent(wrapped)("hi", limits=Limits(usd=60.0))


# ---- what a run has that reached a limit
def test_an_agent_that_reaches_a_limit_tells_what_it_has_and_its_session_goes_on() -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    model = ScriptedModel([["Let me see.", call_tool("add", a=1, b=2)], ["3."], ["Yes."]])
    agent = Agent(model, tools=[add])
    with pytest.raises(LimitExceededError) as reached:
        agent("What is 1 + 2?", limits=Limits(turns=1))
    said, result = reached.value.messages
    assert (said.content, result.content) == ("Let me see.", "3")
    assert agent("Well?").content == "3."
    assert [each["role"] for each in model.requests[-1].messages] == ["user", "assistant", "tool", "user"]


@pytest.mark.parametrize("parallel", [False, True])
def test_no_call_stays_without_a_result_where_a_limit_is_reached_between_two(parallel: bool) -> None:
    ran: list[int] = []

    def note(number: int) -> str:
        """Note a number."""
        ran.append(number)
        return "noted"

    calls = [call_tool("note", number, number=number) for number in range(3)]
    model = ScriptedModel([calls, ["ok"]])
    agent = Agent(model, tools=[note], parallel=parallel)
    with pytest.raises(LimitExceededError) as reached:
        agent("go", limits=Limits(tool_calls=1))
    assert len(ran) == (0 if parallel else 1), "what is to run at once is counted together"
    assert len(reached.value.messages) == (1 if parallel else 4)
    assert agent("and?").content == "ok"
    history = model.requests[-1].messages
    if parallel:
        assert not any(message.get("tool_calls") for message in history)
        return
    asked = {call["id"] for message in history for call in message.get("tool_calls") or ()}
    answered = [message["tool_call_id"] for message in history if message["role"] == "tool"]
    assert sorted(answered) == sorted(asked)
    assert len(asked) == 3
    assert sum("limit of 1 tool_calls" in str(message["content"]) for message in history) == 2


@pytest.mark.parametrize("limit", [{"max_cost": 1.0}, {"max_tokens": 50}])
def test_a_task_that_reaches_a_limit_ends_with_its_status_and_what_it_has(limit: dict[str, Any]) -> None:
    below = ChatAgent(ScriptedModel([["what next?", Usage(10, 10, 0.4)]]), name="below")
    above = Task(ChatAgent(ScriptedModel([["go on", Usage(10, 10, 0.4)]]), name="above"), interactive=False)
    above.add_sub_task(Task(below, interactive=False, single_round=True))
    result = above.run("begin", **limit)
    assert result is not None
    assert result.status is (StatusCode.MAX_COST if "max_cost" in limit else StatusCode.MAX_TOKENS)
    assert result.content == "what next?"
