"""HFTransformer with a tiny random model on the processor: the real torch and transformers, and no network."""

# The passes through the network are counted.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

from trivium import Agent, AsyncAgent
from trivium.exceptions import (
    ConfigurationError,
    EngineError,
    MissingExtraError,
    ModelError,
    ModelNotFoundError,
)
from trivium.llms import (
    INTERNLM2_META,
    Finish,
    HFTransformer,
    HFTransformerCasualLM,
    HFTransformerChat,
    Request,
    UsageEvent,
)
from trivium.llms.engines import _engine_model
from trivium.schema import ModelStatusCode, ToolSpec, Usage

from ._killing import kill_at_first_piece, kill_at_first_piece_async
from ._tiny import WINDOW, make_tiny

pytestmark = pytest.mark.slow  # the import of torch and transformers

HELLO = [{"role": "user", "content": "hello there"}]
GREEDY: dict[str, Any] = {"temperature": 0, "max_new_tokens": 16}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def model(path: str) -> HFTransformerChat:
    return HFTransformerChat(path, max_new_tokens=16, temperature=0)


@pytest.fixture
def counted(model: HFTransformerChat, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tokens each pass through the model reads."""
    reads, forward = list[int](), model._forward

    def counting(ids: list[int], cache: Any) -> Any:
        reads.append(len(ids))
        return forward(ids, cache)

    monkeypatch.setattr(model, "_forward", counting)
    return reads


def test_greedy_text_is_that_of_transformers_own_generate(model: HFTransformerChat):
    tokenizer = model.tokenizer
    for penalty in (1.0, 1.3):
        ids = tokenizer.apply_chat_template(HELLO, add_generation_prompt=True, return_dict=True, return_tensors="pt")
        out = model.model.generate(
            **ids, do_sample=False, max_new_tokens=16, repetition_penalty=penalty, pad_token_id=0
        )
        expected = tokenizer.decode(out[0][ids["input_ids"].shape[1] :], skip_special_tokens=False)
        assert model.chat(HELLO, repetition_penalty=penalty) == expected.removesuffix("</s>")


def test_a_special_token_in_a_message_is_plain_text(model: HFTransformerChat):
    eos, number = model.tokenizer.eos_token, model.tokenizer.eos_token_id
    said, plain = ([{"role": "user", "content": f"hello{each} there"}] for each in (eos, ""))
    prompts = [_engine_model.prompt_of(model.tokenizer, each, "tiny") for each in (said, plain)]
    assert prompts[0].count(number) == prompts[1].count(number)
    assert model.tokenizer.encode(eos).count(number) > model.tokenizer.encode("").count(number)


def test_the_chat_template_writes_messages_and_generate_takes_a_prompt_as_it_is(model: HFTransformerChat):
    assert model.generate("<|user|>hello there<|assistant|>") == model.chat(HELLO)
    assert model.generate("hello there") != model.chat(HELLO)


def test_several_chats_and_several_prompts_are_answered_in_order(model: HFTransformerChat):
    other = [{"role": "user", "content": "the quick fox"}]
    assert model.chat([HELLO, other]) == [model.chat(HELLO), model.chat(other)]
    assert model.generate(["fox", "hello"]) == [model.generate("fox"), model.generate("hello")]


def test_stream_chat_grows_to_the_same_text_and_reads_each_token_once(model: HFTransformerChat, counted: list[int]):
    items = list(model.stream_chat(HELLO))
    texts = [text for _, text, _ in items]
    assert items[-1][0] is ModelStatusCode.END
    assert len(texts) > 5
    assert all(longer.startswith(shorter) for shorter, longer in pairwise(texts))
    assert counted[1:] == [1] * (len(counted) - 1)
    assert texts[-1] == model.chat(HELLO)


def test_the_first_stop_word_cuts_wherever_it_stands_and_ends_the_work(model: HFTransformerChat, counted: list[int]):
    whole = model.chat(HELLO)
    full = len(counted)
    word = whole[3:5]
    counted.clear()
    assert model.chat(HELLO, stop_words=[whole[8:], word]) == whole[: whole.index(word)]
    assert len(counted) < full


def test_parameters_of_a_call_never_stick(path: str):
    model = HFTransformerCasualLM(path, stop_words="never seen", **GREEDY)
    before, whole = dict(model.gen_params), model.chat(HELLO)
    assert model.chat(HELLO, stop_words=[whole[2]], max_new_tokens=9) == whole[: whole.index(whole[2])]
    assert len(model.chat(HELLO, max_new_tokens=3)) < len(whole)
    assert model.gen_params == before
    assert model.chat(HELLO) == whole
    model.gen_params["stop_words"].append(whole[3])
    assert model.chat(HELLO) == whole[: whole.index(whole[3])]
    assert model.chat(HELLO, stop_words=None) == whole


def test_a_seed_gives_the_same_draw_again_and_others_differ(model: HFTransformerChat):
    drawn = {"temperature": 2.0, "top_k": 0, "top_p": 1.0}
    one = model.chat(HELLO, seed=1, **drawn)
    assert one == model.chat(HELLO, seed=1, **drawn)
    assert len({model.chat(HELLO, seed=seed, **drawn) for seed in range(4)}) == 4
    assert model.chat(HELLO, seed=1, temperature=2.0, top_k=1) == model.chat(HELLO)
    assert model.chat(HELLO, seed=1, do_sample=False, **drawn) == model.chat(HELLO)


def test_usage_and_the_reason_to_stop_are_reported(model: HFTransformerChat):
    ids = model.tokenizer.apply_chat_template(HELLO, add_generation_prompt=True, return_dict=False)
    *_, usage, finish = model.stream(Request(HELLO, parameters={"max_tokens": 5}))
    assert (usage, finish) == (Usage(len(ids), 5), Finish("length"))
    text = model.chat(HELLO)
    *_, usage, finish = model.stream(Request(HELLO, parameters={"stop": text[3:5]}))
    assert finish == Finish("stop")
    assert 0 < usage.output_tokens < 16  # type: ignore[union-attr]
    with Agent(model).stream("hello there") as events:
        assert [event.data for event in events if isinstance(event, UsageEvent)] == [Usage(len(ids), 16)]


def test_an_answer_ends_at_an_end_token_and_at_those_given(model: HFTransformerChat):
    ids = model.tokenizer("<|user|>hello there<|assistant|>")["input_ids"]
    logits, _ = model._forward(ids, None)
    first = int(logits.argmax())
    *pieces, usage, finish = model.stream(Request(HELLO, parameters={"stop_words_id": [first]}))
    assert (pieces, usage, finish) == ([""], Usage(len(ids), 1), Finish("stop"))


def test_a_letter_of_several_tokens_comes_whole(model: HFTransformerChat):
    from trivium.llms.engines._transformers import Detokenizer

    text = "schöne 日本 🙂 x"
    reader = Detokenizer(lambda ids: model.tokenizer.decode(ids))
    pieces = [reader.feed(token) for token in model.tokenizer(text)["input_ids"]]
    assert "".join(pieces) + reader.end() == text
    assert not any("\ufffd" in piece for piece in pieces)
    assert "" in pieces


def test_leaving_a_stream_ends_the_work_within_a_token(model: HFTransformerChat, counted: list[int]):
    with closing(model.stream(Request(HELLO, parameters={"max_tokens": 200}))) as deltas:
        next(deltas)
    assert len(counted) == 1


def test_a_kill_ends_the_work_within_a_token_sync_and_async(model: HFTransformerChat, counted: list[int]):
    agent = Agent(model, parameters={"max_new_tokens": 200})
    assert kill_at_first_piece(agent)
    assert len(counted) < 10
    counted.clear()
    asyncio.run(kill_at_first_piece_async(AsyncAgent(model, parameters={"max_new_tokens": 200})))
    assert len(counted) < 10


def test_an_agent_remembers_with_it_sync_and_async(model: HFTransformerChat):
    first = model.chat(HELLO)
    history = [*HELLO, {"role": "assistant", "content": first}, {"role": "user", "content": "again"}]
    second = model.chat(history)
    agent = Agent(model)
    assert [agent("hello there").content, agent("again").content] == [first, second]
    assert [each.content for each in agent.memory.get_memory()][1::2] == [first, second]  # type: ignore[union-attr]

    async def talk() -> list[Any]:
        other = AsyncAgent(model)
        return [(await other.acall("hello there")).content, (await other.acall("again")).content]

    assert asyncio.run(talk()) == [first, second]


def test_sessions_at_once_get_what_each_gets_alone(model: HFTransformerChat):
    texts = ["hello", "the quick fox", "how are you", "ein Tag"]
    alone = [model.chat([{"role": "user", "content": text}], temperature=1.0, seed=5) for text in texts]

    async def together() -> list[Any]:
        agent = AsyncAgent(model, parameters={"temperature": 1.0, "seed": 5})
        return [each.content for each in await asyncio.gather(*[agent.acall(text, session_id=text) for text in texts])]

    assert asyncio.run(together()) == alone
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(model.generate, f"<|user|>{text}<|assistant|>", temperature=1.0, seed=5) for text in texts]
        assert [each.result() for each in asked] == alone


def test_a_meta_template_writes_the_prompt_instead(path: str):
    model = HFTransformer(path, meta_template=INTERNLM2_META, **GREEDY)
    prompt = "<|im_start|>user\nhello there<|im_end|>\n<|im_start|>assistant\n"
    assert model.chat(HELLO) == model.generate(prompt)


def test_a_model_without_a_chat_template_reads_plain_text_but_is_no_chat(tmp_path: Path):
    bare = make_tiny(tmp_path, chat_template=None)
    model = HFTransformer(bare, **GREEDY)
    assert model.chat([{"role": "system", "content": "hello"}, {"role": "user", "content": "fox"}]) == model.generate(
        "hello\nfox"
    )
    with pytest.raises(ConfigurationError, match="no chat template: give a meta_template"):
        HFTransformerChat(bare)


def test_messages_that_the_template_refuses_are_a_typed_error(model: HFTransformerChat):
    with pytest.raises(ConfigurationError, match=r"cannot write these messages.*INTERNLM2_META"):
        model.chat([{"role": "environment", "content": "4"}])


def test_the_window_is_kept(model: HFTransformerChat):
    with pytest.raises(ModelError, match=rf"reads {WINDOW}: shorten it"):
        model.generate("x" * (WINDOW + 50))
    prompt = " ".join("zq"[i % 2] for i in range(70))
    count = len(model.tokenizer(prompt)["input_ids"])
    text = list(model.complete(prompt, {"max_tokens": 999, "temperature": 0}))
    assert text[-2:] in ([Usage(count, WINDOW - count), Finish("length")], [text[-2], Finish("stop")])


def test_what_it_does_not_take_is_a_typed_error(model: HFTransformerChat, path: str, tmp_path: Path):
    with pytest.raises(ConfigurationError, match=r"no parameters \['logit_bias'\]"):
        model.chat(HELLO, logit_bias={})
    with pytest.raises(ConfigurationError, match="does not take these parameters"):
        model.chat(HELLO, temperature=0.5, top_p=-1.0)
    with pytest.raises(ModelError, match="is empty"):
        model.generate("")
    with pytest.raises(ModelNotFoundError, match="there is no model"):
        HFTransformer(str(tmp_path / "nothing"))
    with pytest.raises(ConfigurationError, match="answers text and cannot be given tools"):
        model.stream(Request(HELLO, (ToolSpec("f", "", {}),)))


def test_code_that_comes_with_a_model_runs_only_when_asked(path: str, monkeypatch: pytest.MonkeyPatch):
    import transformers

    asked = list[bool]()
    load = transformers.AutoTokenizer.from_pretrained  # type: ignore[attr-defined]

    def watched(name: str, **options: Any) -> Any:
        asked.append(options["trust_remote_code"])
        return cast("Any", load(name, **options))

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", watched)
    HFTransformer(path, tokenizer_only=True)
    HFTransformer(path, tokenizer_only=True, trust_remote_code=True)
    assert asked == [False, True]


def test_with_the_tokenizer_alone_or_closed_it_says_so(path: str):
    with HFTransformer(path, tokenizer_only=True) as alone, pytest.raises(EngineError, match="tokenizer_only"):
        alone.chat(HELLO)
    with HFTransformer(path, **GREEDY) as model:
        assert model.chat(HELLO)
        growing = model.stream_chat(HELLO)
        next(growing)
        model.close()
        with pytest.raises(EngineError, match="closed while it answered"):
            list(growing)
    with pytest.raises(EngineError, match="make a new one"):
        model.chat(HELLO)
    model.close()


def test_a_missing_package_is_an_error_with_the_install_line(monkeypatch: pytest.MonkeyPatch):
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name.partition(".")[0])

    monkeypatch.setattr(_engine_model, "import_module", missing)
    with pytest.raises(MissingExtraError, match="pip install torch") as caught:
        HFTransformer("anything")
    assert (caught.value.package, caught.value.extra) == ("torch", "")
