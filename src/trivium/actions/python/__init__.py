"""Python that a model wrote, run in a Jupyter kernel for each session, in a sandbox."""

from trivium.actions.python._interpreters import (
    AsyncIPythonInteractive,
    AsyncIPythonInteractiveManager,
    AsyncIPythonInterpreter,
    AsyncPythonInterpreter,
    IPythonInteractive,
    IPythonInteractiveManager,
    IPythonInterpreter,
    PythonInterpreter,
)
from trivium.actions.python._kernel import check_sandbox
from trivium.actions.python._sandbox import SandboxLimits

__all__ = [
    "AsyncIPythonInteractive",
    "AsyncIPythonInteractiveManager",
    "AsyncIPythonInterpreter",
    "AsyncPythonInterpreter",
    "IPythonInteractive",
    "IPythonInteractiveManager",
    "IPythonInterpreter",
    "PythonInterpreter",
    "SandboxLimits",
    "check_sandbox",
]
