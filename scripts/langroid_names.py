"""Write docs/langroid-names.md: every name of the older framework's public documents, each with the test that shows it.

    .venv/bin/python scripts/langroid_names.py            writes the file
    .venv/bin/python scripts/langroid_names.py --check    says what lacks a test or differs, and exits with 1

The names are those of `langroid-api.md`, the document that lies in `shared/reference` beside the checkout: each
heading, parameter with its default, attribute and callback; and those of `tests/reference/langroid_names.txt`,
which only prose names. A test says which of them it shows:

    @pytest.mark.shows("Task.run(turns)", "TaskConfig.logs_dir", "StatusCode.STALLED", "semantic 4")

A name is spelt

    ChatAgent                               a class or function: a heading of the document
    ChatAgent(task), Task.run(turns)        a parameter of a class, method or function
    Task.run, Agent.indent                  a method, property, attribute or config field
    StatusCode.STALLED                      a member of an enum
    Agent.callbacks.start_llm_stream        a callback
    weak point 3, semantic 4, both names 1  what the documents number

A mark may say the default as well, `Task.run(turns=-1)`; it must then be the documented one. It may end with `()`,
name several parameters, and leave out what a name begins with: `callbacks.set_parent_agent` is that of agents and of
tasks, `quiet_mode` that of `utils.configuration`. What shows a parameter shows what it belongs to. What is in no
document and ought to be in the table has a line in the list. Marks stand on a test, on its class, on a `pytest.param`
of it, or on the module (`pytestmark`). They are read from the source, so they are written out as strings.

A marked test has to check something: an assert or a `pytest.raises`, there or in a helper that it calls. That a
name can be imported, has an attribute or is a class shows nothing.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import textwrap
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from shown_tests import BadDocumentError, Shown, marked_tests, read_tests

ROOT = Path(__file__).resolve().parents[1]
LISTED = ROOT / "tests/reference/langroid_names.txt"
PAGE = ROOT / "docs/langroid-names.md"
SHOWN_TESTS = 2

HEAD = """# Langroid's names, and their tests

Every name of Langroid's public documents, with the test that shows here what it does. This page is written by
`scripts/langroid_names.py`; the build fails where a name has no test. Where a cell names more than {shown} tests,
the most specific come first.

{names} names.
"""


def reference_folder() -> Path:
    """The documents beside the checkout; beside the main one, where this is a worktree of it."""
    link = ROOT / ".git"
    main = Path(link.read_text().partition(":")[2].strip()).parents[2] if link.is_file() else ROOT
    beside = [each.parent / "shared/reference" for each in (ROOT, main)]
    return next((each for each in beside if each.is_dir()), beside[0])


# ---- names
@dataclass(frozen=True)
class Name:
    """A documented name.

    Args:
        key: what marks are compared with: without the default.
        group: the heading of the table that it stands in.
        default: the default as written; "" is none.
        meaning: a few words, for what is only numbered.
    """

    key: str
    group: str
    default: str = ""
    meaning: str = ""


_SUFFIX = r"(?P<kinds>(?: (?:async|staticmethod|classmethod|property|writable))*)"
_CALLED = re.compile(rf"(?P<name>\w+)\((?P<arguments>.*)\){_SUFFIX}")
_PROPERTY = re.compile(r"(?P<name>\w+): (?P<type>.+?) property(?: writable)?")
_LISTING = "Source code in "
_ATTRIBUTES = "Name Type Description"


@dataclass
class _Section:
    """A heading of the document and the lines below it."""

    name: str
    line: int
    arguments: str | None = None
    is_class: bool = False
    is_property: bool = False
    body: list[str] = field(default_factory=list[str])

    @property
    def text(self) -> list[str]:
        """What stands before the listing."""
        return self.body[: self._listing_at()]

    @property
    def listing(self) -> str:
        return textwrap.dedent("\n".join(self.body[self._listing_at() + 1 :]))

    def _listing_at(self) -> int:
        return next((at for at, line in enumerate(self.body) if line.startswith(_LISTING)), len(self.body))

    def tree(self) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The function that is listed, if there is one."""
        try:
            body = ast.parse(self.listing).body
        except SyntaxError as error:
            raise BadDocumentError(f"line {self.line}: the listing of {self.name} cannot be read: {error}") from error
        return next((each for each in body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))), None)


def documented(text: str) -> list[Name]:
    """The names of the document, in order."""
    found: list[Name] = []
    for section, owner, path in _placed(text):
        group = owner or "Functions"
        found.append(Name(path, group))
        if section.arguments is not None:
            found += [Name(f"{path}({name})", group, default) for name, default in _parameters(section)]
        if section.is_class:
            found += _class_names(section, section.tree())
    if not found:
        raise BadDocumentError("the document has no heading that can be read")
    first: dict[str, Name] = {}
    return [first.setdefault(each.key, each) for each in found if each.key not in first]


def methods(text: str) -> list[str]:
    """The methods of the document, each behind its class and a dot."""
    placed = _placed(text)
    return [path for section, owner, path in placed if owner and not section.is_class and section.arguments is not None]


def _placed(text: str) -> Iterator[tuple[_Section, str, str]]:
    """The sections of the document, each with its class and its path."""
    owner = ""
    for section in _sections(text):
        tree = section.tree()
        if section.is_class or not owner or (tree is not None and _is_free(tree)):
            owner = section.name if section.is_class else ""
        yield section, owner, section.name if section.is_class or not owner else f"{owner}.{section.name}"


def _sections(text: str) -> list[_Section]:
    lines = text.splitlines()
    found: list[_Section] = []
    for at, line in enumerate(lines):
        alone = (
            line and not line[0].isspace() and (at == 0 or not lines[at - 1]) and not "".join(lines[at + 1 : at + 2])
        )
        section = _heading(line, at, "".join(lines[at + 2 : at + 3])) if alone else None
        if section is not None:
            found.append(section)
        elif found:
            found[-1].body.append(line)
    return found


def _heading(line: str, at: int, below: str) -> _Section | None:
    if called := _CALLED.fullmatch(line):
        arguments = called["arguments"]
        try:
            ast.parse(f"def f({arguments}): ...")
        except SyntaxError as error:
            raise BadDocumentError(f"line {at + 1}: the heading {line!r} cannot be read") from error
        return _Section(called["name"], at + 1, arguments, is_class=line[0].isupper())
    if found := _PROPERTY.fullmatch(line):
        return _Section(found["name"], at + 1, is_property=True)
    if line.isidentifier() and below.startswith("Bases: "):
        return _Section(line, at + 1, is_class=True)
    return None


def _is_free(tree: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether the listed function belongs to no class."""
    arguments = [*tree.args.posonlyargs, *tree.args.args]
    bound = bool(arguments) and arguments[0].arg in ("self", "cls")
    return not bound and "staticmethod" not in map(ast.unparse, tree.decorator_list)


def _parameters(section: _Section) -> Iterator[tuple[str, str]]:
    function = ast.parse(f"def f({section.arguments}): ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    given = function.args
    plain = [*given.posonlyargs, *given.args]
    yield from _with_defaults(plain, [None] * (len(plain) - len(given.defaults)) + list(given.defaults))
    yield from _with_defaults(given.kwonlyargs, given.kw_defaults)
    yield from ((each.arg, "") for each in (given.vararg, given.kwarg) if each is not None)


def _with_defaults(plain: list[ast.arg], defaults: Iterable[ast.expr | None]) -> Iterator[tuple[str, str]]:
    for each, default in zip(plain, defaults, strict=True):
        yield each.arg, "" if default is None else ast.unparse(default)


def _class_names(section: _Section, tree: ast.AST | None) -> Iterator[Name]:
    """The attributes that a class's text names, and what its constructor sets."""
    for name in _attribute_table(section.text):
        yield Name(f"{section.name}.{name}", section.name)
    statements = (each for each in ast.walk(tree or ast.Pass()) if isinstance(each, (ast.Assign, ast.AnnAssign)))
    for statement in sorted(statements, key=lambda each: each.lineno):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        value = statement.value
        if not (isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self"):
            continue
        path = f"{section.name}.{target.attr}"
        if not target.attr.startswith("_"):
            yield Name(path, section.name, _literal(value))
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "SimpleNamespace":
            yield from (Name(f"{path}.{each.arg}", section.name, _literal(each.value)) for each in value.keywords)


def _literal(value: ast.expr | None) -> str:
    """The value as written where it says something by itself."""
    try:
        return "" if value is None else repr(ast.literal_eval(value))
    except ValueError:
        return ""


def _attribute_table(text: list[str]) -> list[str]:
    """The names of a table of attributes, or of those that the prose lists behind `Attributes:`."""
    if _ATTRIBUTES in text:
        paragraphs = [line for line in text[text.index(_ATTRIBUTES) + 1 :] if line]
        return [line.split()[0] for line in paragraphs[::2]]
    prose = " ".join(text).partition(" Attributes: ")[2]
    return re.findall(r"\b([a-z_]+): ", prose)


def listed(text: str, known: Iterable[Name] = ()) -> list[Name]:
    """The names of the list that the document's prose does not give as headings.

    A line is a name, maybe with its default, and behind two spaces maybe a few words; `[...]` says where the names
    below it come from. A name that `known` has may be given again to say its default.
    """
    before = {each.key: each for each in known}
    found: dict[str, Name] = {}
    origin = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("["):
            origin = line.strip("[] ")
            continue
        spelt, _, meaning = line.strip().partition("  ")
        key, default = split_default(spelt)
        if not origin or key in found or (key in before and (before[key].default or not default)):
            raise BadDocumentError(f"line {number}: {key} is named already, or no [origin] stands above it")
        found[key] = Name(key, before[key].group if key in before else _group(key), default, meaning.strip())
    return list(found.values())


def _group(key: str) -> str:
    numbered = re.fullmatch(r"(\D+) \d+", key)
    if numbered:
        return numbered[1].capitalize() + "s"
    owner, _, name = key.partition("(")[0].rpartition(".")
    if owner.startswith(("utils.", "mytypes", "exceptions")):
        return owner
    head = (owner or name).partition("[")[0]
    return head.partition(".")[0] if head[:1].isupper() else "Functions"


def split_default(spelt: str) -> tuple[str, str]:
    """A name as it is spelt in a mark or in the list: without its default, and the default.

    >>> split_default("Task.run(turns=-1)"), split_default("TaskConfig.logs_dir")
    (('Task.run(turns)', '-1'), ('TaskConfig.logs_dir', ''))
    """
    inner = re.fullmatch(r"(?P<path>[^(=]+)\((?P<stars>\*{0,2})(?P<name>\w+)\s*(?:=(?P<default>.*))?\)", spelt)
    if inner:
        return f"{inner['path']}({inner['name']})", _normal(inner["default"] or "")
    key, _, default = spelt.partition("=")
    return key.strip().removesuffix("()"), _normal(default)


def _normal(default: str) -> str:
    try:
        return ast.unparse(ast.parse(default.strip(), mode="eval")) if default.strip() else ""
    except SyntaxError:
        return default.strip()


def all_names(document: str, names: str) -> list[Name]:
    """The names of the document and of the list together, by group."""
    known = documented(document)
    more = {each.key: each for each in listed(names, known)}
    merged = [more.pop(each.key, each) for each in known] + list(more.values())
    groups = list(dict.fromkeys(each.group for each in merged))
    return sorted(merged, key=lambda each: groups.index(each.group))


# ---- the page
def problems(names: Iterable[Name], tests: Iterable[Shown]) -> list[str]:
    """What is wrong: a name without a test, a mark that names nothing, a default that is another, an empty test."""
    known = {each.key: each for each in names}
    shown: set[str] = set()
    found: list[str] = []
    for test in tests:
        for spelt in test.names:
            keys, default = meant(spelt, known)
            others = [each for each in keys[:1] if default and default != _normal(known[each].default)]
            if not keys:
                found.append(f"{test.test}: no document names {spelt}")
            elif others:
                written = known[others[0]].default or "none"
                found.append(f"{test.test}: the default of {others[0]} is {written}, not {default}")
            elif not test.trivial:
                shown.update(keys)
        if test.trivial:
            found.append(f"{test.test}: {test.trivial}")
    return [f"{key} has no test" for key in known if key not in shown] + found


def meant(spelt: str, known: Collection[str]) -> tuple[list[str], str]:
    """The names that a mark means, what each parameter belongs to among them, and the default that it says."""
    many = re.fullmatch(r"(?P<path>[^(]+)\((?P<names>\w+(?:, \w+)+)\)", spelt)
    spellings = [f"{many['path']}({name})" for name in many["names"].split(", ")] if many else [spelt]
    keys = [key for each in spellings for key in _keys(split_default(each)[0], known)]
    owners = [each.partition("(")[0] for each in keys if "(" in each]
    found = dict.fromkeys([*keys, *(each for each in owners if each in known)])
    return list(found), split_default(spelt)[1]


def _keys(key: str, known: Collection[str]) -> list[str]:
    if key in known:
        return [key]
    return [each for each in known if each.endswith(f".{key}") and ("." in key or each[0].islower())]


def page(names: list[Name], tests: Iterable[Shown]) -> str:
    """The page as it should be."""
    by_key: dict[str, list[Shown]] = defaultdict(list)
    known = {each.key for each in names}
    for test in tests:
        for key in {key for each in test.names for key in meant(each, known)[0]}:
            by_key[key].append(test)
    parts = [HEAD.format(shown=SHOWN_TESTS, names=len(names))]
    for group in dict.fromkeys(each.group for each in names):
        rows = [_row(each, by_key[each.key]) for each in names if each.group == group]
        parts.append("\n".join([f"## {group}\n", "| name | default | test |", "| --- | --- | --- |", *rows]) + "\n")
    return "\n".join(parts)


def _row(name: Name, tests: list[Shown]) -> str:
    specific = sorted(tests, key=lambda each: (len(each.names), each.test))
    cells = [_code(each.test) for each in specific[:SHOWN_TESTS]]
    more = f" and {len(specific) - SHOWN_TESTS} more" if len(specific) > SHOWN_TESTS else ""
    spelt = f"{_code(name.key)}: {name.meaning}" if name.meaning else _code(name.key)
    return f"| {spelt} | {_code(name.default)} | {', '.join(cells)}{more} |"


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`" if text else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; say what is wrong")
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args()
    document = (reference_folder() / "langroid-api.md").read_text(encoding="utf-8")
    names = all_names(document, LISTED.read_text(encoding="utf-8"))
    tests = marked_tests(read_tests(ROOT / "tests"))
    text = page(names, tests)
    if not options.check:
        options.output.write_text(text, encoding="utf-8")
        return 0
    found = problems(names, tests)
    if not options.output.is_file() or options.output.read_text(encoding="utf-8") != text:
        found.append("docs/langroid-names.md is not up to date: run scripts/langroid_names.py")
    sys.stdout.writelines(f"{each}\n" for each in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
