"""Structured extraction with evidence: fields, the record that a model fills in, and the quote behind each value."""

from trivium.extraction._batch import Outcome, extract_file, extract_files
from trivium.extraction._case import DOUBTFUL, Case
from trivium.extraction._evidence import find_evidence
from trivium.extraction._fields import Field, json_schema, parse_fields
from trivium.extraction._findings import NOT_STATED, Evidence, GroupEvidence, ListEvidence, Refusal
from trivium.extraction._record import record_message
from trivium.extraction._schemas import fields_from_model, fields_from_schema, load_fields
from trivium.extraction._source import SourceText
from trivium.extraction._task import Checker, extraction_task

__all__ = [
    "DOUBTFUL",
    "NOT_STATED",
    "Case",
    "Checker",
    "Evidence",
    "Field",
    "GroupEvidence",
    "ListEvidence",
    "Outcome",
    "Refusal",
    "SourceText",
    "extract_file",
    "extract_files",
    "extraction_task",
    "fields_from_model",
    "fields_from_schema",
    "find_evidence",
    "json_schema",
    "load_fields",
    "parse_fields",
    "record_message",
]
