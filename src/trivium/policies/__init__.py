"""Policies: run, ask about or refuse tool calls that send, spend or execute, by the sources of their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names
from trivium.policies._sources import NOTHING, Source, SourceKind, Sources, as_sources, sources_within

if TYPE_CHECKING:
    from trivium.policies._policy import Action, Decision, Policy, Rule, Sink, SinkCall, decide

__all__ = [
    "NOTHING",
    "Action",
    "Decision",
    "Policy",
    "Rule",
    "Sink",
    "SinkCall",
    "Source",
    "SourceKind",
    "Sources",
    "as_sources",
    "decide",
    "sources_within",
]

lazy_names(__name__, {}, __all__, rest="_policy")  # most programs have none
