"""Structured extraction with evidence: fields, the record that a model fills in, and the proof that it stands there."""

from trivium.extraction._case import Case
from trivium.extraction._evidence import Evidence, ListEvidence, Refusal, find_evidence
from trivium.extraction._fields import Field, json_schema, parse_fields
from trivium.extraction._record import record_message
from trivium.extraction._schemas import fields_from_model, fields_from_schema, load_fields
from trivium.extraction._source import SourceText

__all__ = [
    "Case",
    "Evidence",
    "Field",
    "ListEvidence",
    "Refusal",
    "SourceText",
    "fields_from_model",
    "fields_from_schema",
    "find_evidence",
    "json_schema",
    "load_fields",
    "parse_fields",
    "record_message",
]
