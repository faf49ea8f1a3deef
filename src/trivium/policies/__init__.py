"""Policies: calls of tools that send, spend or execute run, ask or are refused, by the sources of their arguments."""

from trivium.policies._policy import Action, Decision, Policy, Rule, Sink, SinkCall, decide
from trivium.policies._sources import NOTHING, Source, SourceKind, Sources, as_sources, sources_within

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
