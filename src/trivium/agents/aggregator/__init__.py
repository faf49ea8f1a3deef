"""Aggregators turn what an agent remembers into the chat messages that a model reads."""

from trivium.agents.aggregator._default import DefaultAggregator, Instruction
from trivium.agents.aggregator._internlm import InternLMToolAggregator

__all__ = ["DefaultAggregator", "Instruction", "InternLMToolAggregator"]
