"""Read from an installed Chainlit what trivium calls there.

    python -m venv env && env/bin/pip install chainlit
    env/bin/python scripts/chainlit_signatures.py

writes `tests/agents/chainlit_signatures.json`. The tests build a stand-in from it, so that a keyword or a method which
is not there fails.
"""

from __future__ import annotations

import inspect
import json
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "tests" / "agents" / "chainlit_signatures.json"
CLASSES = {
    "Message": ["__init__", "send", "update", "remove", "stream_token"],
    "AskUserMessage": ["__init__", "send", "remove"],
}
FUNCTIONS = ["run_sync"]


def parameters(function: Any) -> list[dict[str, Any]]:
    """The parameters of a function, `self` included."""
    return [
        {"name": each.name, "kind": each.kind.name, "required": each.default is each.empty}
        for each in inspect.signature(function).parameters.values()
    ]


def main() -> None:
    """Write what is there now."""
    chainlit: Any = import_module("chainlit")
    facts = {
        "version": version("chainlit"),
        "functions": {name: parameters(getattr(chainlit, name)) for name in FUNCTIONS},
        "methods": {
            f"{kind}.{name}": parameters(getattr(getattr(chainlit, kind), name))
            for kind, names in CLASSES.items()
            for name in names
        },
    }
    TARGET.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
