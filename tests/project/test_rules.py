"""Each rule is shown to fail on a bad snippet and to pass a good one."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from . import _conduct, _imports, _shape
from ._source import Source


def source(text: str, path: str = "trivium/room/_file.py") -> Source:
    return Source(path, dedent(text))


def function(lines: int, name: str = "f", keyword: str = "def") -> str:
    """A function of that many lines of code, with layout that must not count."""
    body = "\n".join(f"a{n} = {n}" for n in range(lines - 1))
    return f'{keyword} {name}():\n    """Text\n\n    text."""\n\n    # why\n{indent(body, "    ")}\n\n'


def test_long_files():
    assert _shape.long_files([source("a = 1\n" * 500)]) == []
    assert _shape.long_files([source("a = 1\n" * 501)]) == ["trivium/room/_file.py: 501 lines"]


def test_long_functions():
    assert _shape.long_functions([source(function(50))]) == []
    assert _shape.long_functions([source(function(51))]) == ["trivium/room/_file.py:1 f: 51 lines"]


def test_mean_function():
    assert _shape.mean_function([source(function(10) + function(20, "g"))]) == 15
    assert _shape.mean_function([source("a = 1")]) == 0


def test_nesting():
    blocks = ["if a:", "for b in a:", "while b:", "with c:", "try:"]
    lines = ["def f():", *("    " * (depth + 1) + block for depth, block in enumerate(blocks))]
    deep = "\n".join([*lines, " " * 24 + "pass", " " * 20 + "finally: pass"])
    assert _shape.deep_functions([source(deep)]) == ["trivium/room/_file.py:1 f: nesting 5"]
    chain = "def f():\n    if a: pass\n" + "    elif b: pass\n" * 9
    assert _shape.deep_functions([source(chain)]) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [("run", "run_async"), ("run", "arun"), ("run", "async_run"), ("run", "run")],
)
def test_twins(one: str, other: str):
    text = function(8, one) + function(8, other, "async def")
    assert len(_shape.twins([source(text)])) == 1
    short = f"def {one}():\n    return drive(core)\n\nasync def {other}():\n    return await core()\n"
    assert _shape.twins([source(short)]) == []


def test_twins_are_alike_in_body_too():
    other = "async def run_async():\n" + "".join(f"    await b({n})\n" for n in range(8))
    assert _shape.twins([source(function(8, "run") + other)]) == []


def test_answers_left_out():
    for name in _conduct.ABOUT_ANSWERS:
        assert len(_conduct.answers_left_out([source(f'raise {name}("no number")')])) == 1
        assert _conduct.answers_left_out([source(f'raise {name}("no number", text)')]) == []
        assert _conduct.answers_left_out([source(f'raise {name}("no number", raw=text)')]) == []
        assert _conduct.answers_left_out([source(f'raise {name}("x")', "trivium/llms/wire/_a.py")]) == []


def test_core_size():
    files = [
        source(function(5), "trivium/module.py"),
        source(function(7), "trivium/agents/_agent.py"),
        source(function(9), "trivium/llms/local/_local.py"),
        source(function(9), "trivium/__init__.py"),
    ]
    assert _shape.core_size(files) == 12


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("from trivium.b import y", "import trivium.a"),
        ("from . import b", "from .a import x"),
        ("class A:\n    from trivium import b", "try:\n    import trivium.a\nexcept ImportError: pass"),
    ],
)
def test_import_cycles(first: str, second: str):
    files = [source("", "trivium/__init__.py"), source(first, "trivium/a.py")]
    assert _imports.cycle([*files, source("", "trivium/b.py")]) == []
    assert set(_imports.cycle([*files, source(second, "trivium/b.py")])) == {"trivium.a", "trivium.b"}


def test_import_cycle_through_a_package():
    """Importing a module runs its package first, so what the package imports counts."""
    files = [
        source("from ._agent import Agent", "trivium/agents/__init__.py"),
        source("from trivium.actions._tool import Tool", "trivium/agents/_agent.py"),
        source("", "trivium/actions/_tool.py"),
    ]
    assert _imports.cycle([*files, source("", "trivium/actions/__init__.py")]) == []
    assert _imports.cycle([*files, source("import trivium.agents", "trivium/actions/__init__.py")]) != []


@pytest.mark.parametrize("late", ["def f():\n    import trivium.a", "if TYPE_CHECKING:\n    import trivium.a"])
def test_late_imports_make_no_cycle(late: str):
    files = [source("import trivium.b", "trivium/a.py"), source(late, "trivium/b.py")]
    assert _imports.cycle(files) == []


@pytest.mark.parametrize(
    "bad",
    [
        "import openai",
        "from google.genai import Client",
        "if a:\n    import httpx2.api",
        "class A:\n    import bs4",
    ],
)
def test_vendor_imports(bad: str):
    assert len(_imports.vendor_imports([source(bad)])) == 1
    late = "if TYPE_CHECKING:\n" + indent(bad, "    ") + "\ndef f():\n" + indent(bad, "    ")
    assert _imports.vendor_imports([source(late)]) == []


def test_a_file_named_after_a_vendor_is_imported_late_as_the_vendor_is():
    adapter = source("import uvicorn", "trivium/serving/_uvicorn.py")
    early, late = (
        "from trivium.serving._uvicorn import Server",
        "def f():\n    from trivium.serving._uvicorn import Server",
    )
    assert _imports.vendor_imports([adapter, source(late, "trivium/serving/_server.py")]) == []
    assert len(_imports.vendor_imports([adapter, source(early, "trivium/serving/_server.py")])) == 1
    assert len(_imports.vendor_imports([source("import uvicorn", "trivium/serving/_server.py")])) == 1


def test_concurrency_imports():
    bad = source("def f():\n    import asyncio\n    from concurrent.futures import Future")
    assert len(_imports.concurrency_imports([bad])) == 2
    assert _imports.concurrency_imports([Source("trivium/commander/_drivers.py", bad.text)]) == []
    assert _imports.concurrency_imports([source("if TYPE_CHECKING:\n    import asyncio")]) == []


def test_an_exempt_file_imports_only_its_own_exemptions():
    jobs = "trivium/commander/_jobs.py"
    text = "import asyncio\nimport threading"
    assert _imports.concurrency_imports([source(text, jobs)]) == [f"{jobs}:2 imports threading"]


def test_locks_and_the_name_of_cancellation_are_free():
    good = "from asyncio import CancelledError\nfrom threading import Lock"
    assert _imports.concurrency_imports([source(good)]) == []
    assert len(_imports.concurrency_imports([source("from threading import Lock, Thread")])) == 1


def test_prints():
    assert _conduct.prints([source("def f():\n    print(1)")]) == ["trivium/room/_file.py:2 print()"]
    assert _conduct.prints([source("print(1)", "trivium/cli/_main.py")]) == []
    assert _conduct.prints([source("printer.print(1)")]) == []


@pytest.mark.parametrize("bad", ["eval('1')", "def f(): exec(a)", "import pickle", "from shelve import open"])
def test_unsafe_code(bad: str):
    assert len(_conduct.unsafe_code([source(bad)])) == 1
    assert _conduct.unsafe_code([source("model.eval()\nimport pickletools")]) == []


@pytest.mark.parametrize(
    "bad",
    [
        "os.environ['HOME']",
        "environ.get('DEBUG', '')",
        "os.getenv('NAME')",
        "'HOME' in os.environ",
        "dict(os.environ)",
        "copy = {**os.environ}",
        "Popen(command, env=os.environ)",
        "os.environ['TRIVIUM_MODEL'] = 'a'",
        "os.environ.setdefault('TRIVIUM_MODEL', 'a')",
        "def f(name): return os.environ.get(name)",
        "KEY = 'AWS_SECRET'\nos.environ[KEY]",
    ],
)
def test_environment_reads(bad: str):
    assert len(_conduct.environment_reads([source(bad)])) == 1


@pytest.mark.parametrize(
    "good",
    [
        "os.environ['TRIVIUM_MODEL']",
        "environ.get('OPENAI_API_KEY')",
        "'XDG_CACHE_HOME' in os.environ",
        "os.environ.setdefault('GOMP_SPINCOUNT', '1000')",
        "Popen(command, env={**os.environ, 'CUDA_VISIBLE_DEVICES': '0'})",
        "KEYS = {'openai': 'OPENAI_API_KEY'}\ndef f(n): return os.environ.get(KEYS[n])",
    ],
)
def test_environment_reads_that_are_ours(good: str):
    assert _conduct.environment_reads([source(good)]) == []


@pytest.mark.parametrize(
    "bad",
    [
        "registry = {}",
        "seen: dict[int, str] = {}",
        "cache = collections.defaultdict(list)",
        "TABLE = {}\ndef f(): TABLE[1] = 2",
        "TABLE: Final = []\nTABLE.append(1)",
        "TABLE = set()\ndef f():\n    global TABLE",
    ],
)
def test_module_state(bad: str):
    assert len(_conduct.module_state([source(bad)])) == 1


def test_module_state_changed_from_another_file():
    table = source("TABLE = {}", "trivium/a.py")
    user = source("from .a import TABLE\nTABLE.update(b=1)", "trivium/b.py")
    assert _conduct.module_state([table, user]) == ["trivium/b.py:2 changes TABLE"]


@pytest.mark.parametrize(
    "good",
    [
        "TABLE = {1: 2}\nvalue = TABLE[1]",
        "table: Final = [1]",
        "__all__ = ['a']",
        "live = WeakValueDictionary()",
        "def f():\n    found = []\n    found.append(1)",
        "class A:\n    table: ClassVar = {}",
    ],
)
def test_constants_are_no_state(good: str):
    assert _conduct.module_state([source(good)]) == []


def test_only_the_pool_of_idle_threads_is_process_wide():
    text = "_idle = []\ndef f(): _idle.append(1)"
    assert _conduct.module_state([source(text, "trivium/commander/_workers.py")]) == []
    assert len(_conduct.module_state([source(text, "trivium/commander/_node.py")])) == 2
