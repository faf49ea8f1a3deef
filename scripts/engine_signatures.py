"""Read from the wheels of vLLM and LMDeploy what trivium calls there, without installing or importing them.

    pip download --no-deps vllm lmdeploy --dest wheels
    python scripts/engine_signatures.py wheels/*.whl

writes `tests/llms/engine_signatures.json`. The tests build stand-ins of those packages from it, so that a keyword,
a method or an attribute which is not there fails.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Iterator
from email import message_from_string
from pathlib import Path
from typing import Any
from zipfile import ZipFile

TARGET = Path(__file__).parent.parent / "tests" / "llms" / "engine_signatures.json"

# Where each thing is defined that our code uses: the file in the wheel, its name there, and the methods.
CLASSES: dict[str, dict[str, tuple[str, list[str]]]] = {
    "vllm": {
        "LLM": ("vllm/entrypoints/llm.py", ["__init__", "get_tokenizer"]),
        "EngineArgs": ("vllm/engine/arg_utils.py", []),
        "LLMEngine": ("vllm/v1/engine/llm_engine.py", ["add_request", "step", "abort_request"]),
        "EngineCoreClient": ("vllm/v1/engine/core_client.py", ["shutdown"]),
        "SamplingParams": ("vllm/sampling_params.py", []),
        "RequestOutputKind": ("vllm/sampling_params.py", []),
        "RequestOutput": ("vllm/outputs.py", ["__init__"]),
        "CompletionOutput": ("vllm/outputs.py", []),
        "TokensPrompt": ("vllm/inputs/llm.py", []),
        "ChatCompletionStreamResponse": ("vllm/entrypoints/openai/chat_completion/protocol.py", []),
        "ChatCompletionResponseStreamChoice": ("vllm/entrypoints/openai/chat_completion/protocol.py", []),
        "CompletionStreamResponse": ("vllm/entrypoints/openai/completion/protocol.py", []),
        "CompletionResponseStreamChoice": ("vllm/entrypoints/openai/completion/protocol.py", []),
        "DeltaMessage": ("vllm/entrypoints/generate/base/protocol.py", []),
        "UsageInfo": ("vllm/entrypoints/serve/engine/protocol.py", []),
    },
    "lmdeploy": {
        "Pipeline": ("lmdeploy/pipeline.py", ["stream_infer", "session", "close"]),
        "Session": ("lmdeploy/serve/managers/session_manager.py", ["abort"]),
        "GenerationConfig": ("lmdeploy/messages.py", []),
        "TurbomindEngineConfig": ("lmdeploy/messages.py", []),
        "PytorchEngineConfig": ("lmdeploy/messages.py", []),
        "Response": ("lmdeploy/messages.py", []),
        "ChatTemplateConfig": ("lmdeploy/model.py", []),
        "CompletionRequest": ("lmdeploy/serve/openai/protocol.py", []),
        "ChatCompletionRequest": ("lmdeploy/serve/openai/protocol.py", []),
        "ChatCompletionStreamResponse": ("lmdeploy/serve/openai/protocol.py", []),
        "ChatCompletionResponseStreamChoice": ("lmdeploy/serve/openai/protocol.py", []),
        "CompletionStreamResponse": ("lmdeploy/serve/openai/protocol.py", []),
        "CompletionResponseStreamChoice": ("lmdeploy/serve/openai/protocol.py", []),
        "DeltaMessage": ("lmdeploy/serve/openai/protocol.py", []),
        "UsageInfo": ("lmdeploy/serve/openai/protocol.py", []),
    },
}
FUNCTIONS: dict[str, dict[str, str]] = {"vllm": {}, "lmdeploy": {"pipeline": "lmdeploy/api.py"}}
ROUTES = {
    "lmdeploy": [
        "lmdeploy/serve/openai/endpoints/management.py",
        "lmdeploy/serve/openai/endpoints/completions.py",
        "lmdeploy/serve/openai/chat_completions/serving.py",
    ],
    "vllm": [
        "vllm/entrypoints/openai/chat_completion/api_router.py",
        "vllm/entrypoints/openai/completion/api_router.py",
    ],
}
COMMAND = ("lmdeploy/cli/serve.py", "add_parser_api_server", "lmdeploy/cli/utils.py")


def main(wheels: list[str]) -> None:
    """Read each wheel, and write what was found."""
    found = dict(read_wheel(Path(wheel)) for wheel in wheels)
    TARGET.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


def read_wheel(path: Path) -> tuple[str, dict[str, Any]]:
    """A package's name, and what of it our code uses."""
    with ZipFile(path) as wheel:
        metadata = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        about = message_from_string(wheel.read(metadata).decode())
        name = about["Name"]

        def tree(file: str) -> ast.Module:
            return ast.parse(wheel.read(file))

        classes = {each: read_class(tree(file), each, methods) for each, (file, methods) in CLASSES[name].items()}
        facts = {
            "version": about["Version"],
            "wheel": path.name,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "exports": exports(tree(f"{name}/__init__.py")),
            "classes": classes,
            "functions": {each: parameters(function(tree(file), each)) for each, file in FUNCTIONS[name].items()},
            "routes": sorted(route for file in ROUTES[name] for route in routes(tree(file))),
        }
        if name == "lmdeploy":
            facts["api_server"] = command_line(tree(COMMAND[0]), tree(COMMAND[2]))
        return name, facts


def exports(tree: ast.Module) -> list[str]:
    """What `__all__` of a package names."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return sorted(ast.literal_eval(node.value))
    raise SystemExit("there is no __all__")


def function(tree: ast.AST, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """The function of that name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return node
    raise SystemExit(f"there is no function {name} any more")


def read_class(tree: ast.Module, name: str, methods: list[str]) -> dict[str, Any]:
    """A class's fields with whether each must be given, its attributes, and the parameters of some methods."""
    node = next((each for each in ast.walk(tree) if isinstance(each, ast.ClassDef) and each.name == name), None)
    if node is None:
        raise SystemExit(f"there is no class {name} any more")
    own = [each for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)]
    fields = {ast.unparse(each.target): each.value is None and "NotRequired" not in ast.unparse(each) for each in own}
    values = [each for each in node.body if isinstance(each, ast.Assign)]
    fields |= {ast.unparse(each.targets[0]): False for each in values}
    fields = {field: needed for field, needed in fields.items() if not field.startswith("_")}
    return {
        "fields": fields,
        "attributes": sorted(set(attributes(node))),
        "methods": {each: parameters(function(node, each)) for each in methods},
    }


def attributes(node: ast.ClassDef) -> Iterator[str]:
    """What the methods of a class set on `self`."""
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and ast.unparse(each.value) == "self":
            yield each.attr


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[dict[str, Any]]:
    """A function's parameters, without `self`: name, kind as `inspect` calls it, whether it must be given."""
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    optional = len(plain) - len(arguments.defaults)
    found = [(each.arg, "POSITIONAL_OR_KEYWORD", place < optional) for place, each in enumerate(plain)]
    if arguments.vararg:
        found.append((arguments.vararg.arg, "VAR_POSITIONAL", False))
    for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append((each.arg, "KEYWORD_ONLY", default is None))
    if arguments.kwarg:
        found.append((arguments.kwarg.arg, "VAR_KEYWORD", False))
    return [{"name": name, "kind": kind, "required": must} for name, kind, must in found if name not in ("self", "cls")]


def routes(tree: ast.Module) -> Iterator[str]:
    """The HTTP routes that a module serves, as `GET /health`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="get" | "post" as verb), args=[ast.Constant(value=str(path)), *_]):
                if path.startswith("/"):
                    yield f"{verb.upper()} {path}"
            case _:
                pass


def command_line(tree: ast.Module, helpers: ast.Module) -> dict[str, str]:
    """The options of `lmdeploy serve api_server`, each with how many values it takes: one, none or many."""
    asked = function(tree, COMMAND[1])
    names = [
        each.func.attr
        for each in ast.walk(asked)
        if isinstance(each, ast.Call) and ast.unparse(each.func).startswith("ArgumentHelper.")
        if isinstance(each.func, ast.Attribute)
    ]
    found: dict[str, str] = {}
    for part in [asked, *(function(helpers, name) for name in names)]:
        for node in ast.walk(part):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".add_argument"):
                found |= option(node)
    return found


def option(call: ast.Call) -> dict[str, str]:
    """The names of one `add_argument`, and how many values follow."""
    keywords = {each.arg: ast.unparse(each.value).strip("'\"") for each in call.keywords}
    takes = "none" if keywords.get("action", "").startswith("store_") else "many" if "nargs" in keywords else "one"
    return {each.value: takes for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)}


if __name__ == "__main__":
    main(sys.argv[1:])
