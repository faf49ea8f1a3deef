"""Sequences that end a task, at the documented path."""

from trivium.tasks import AgentEvent, DoneSequence, EventType, parse_done_sequence, parse_done_sequences

__all__ = ["AgentEvent", "DoneSequence", "EventType", "parse_done_sequence", "parse_done_sequences"]
