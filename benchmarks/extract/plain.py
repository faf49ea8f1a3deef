"""One plain call of a model: the whole text, the fields as a JSON schema, and no checker; what extraction is beside it.

The values are brought into the forms that the truth has, each by itself: no look at the document puts one right. A bare
amount has the currency that the same answer gives.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

from trivium import ChatAgent, Message
from trivium.extraction import Field, Refusal, SourceText, find_evidence, record_message
from trivium.knowledge import read

INSTRUCTION = "You take facts out of documents."
TOKENS = 3000


def old_text(file: Path) -> str:
    """Read a PDF as it was read before its layout was: by pypdf, page after page; half characters become "?"."""
    import pypdf

    text = "\n\n".join(page.extract_text() for page in pypdf.PdfReader(BytesIO(file.read_bytes())).pages)
    return text.encode("utf-8", "replace").decode("utf-8")


def new_text(file: Path) -> str:
    """Read a document as trivium does."""
    return read(file).content


class PlainCall:
    """Asks a model once for all fields.

    Args:
        fields: the fields.
        model: a model or its name.
        reader: old_text or new_text.
    """

    def __init__(self, fields: Sequence[Field], model: Any, reader: Any) -> None:
        self.fields, self.reader = fields, reader
        self._record, self._model = record_message(fields), model

    def __call__(self, file: Path) -> dict[str, Any]:
        """Return the line of a document: its values, seconds and tokens."""
        agent = ChatAgent(self._model, system_message=INSTRUCTION, parameters={"max_tokens": TOKENS})
        agent.enable_message(self._record, handle=False, force=True)
        started, names = time.monotonic(), "\n".join(f"- {field.name}: {field.description}" for field in self.fields)
        answer = agent.llm_response(f"{self.reader(file)}\n\nExtract these fields, null where there is none:\n{names}")
        usage = answer.usage if answer else None
        cost = {"seconds": round(time.monotonic() - started, 1), "tokens": usage.total if usage else 0}
        line = {"source": file.name, **cost, "questions": 1, "answers": [{"proposed": proposals(answer), "tokens": []}]}
        return self.judge(line)

    def judge(self, line: dict[str, Any]) -> dict[str, Any]:
        """Return a line with the values of its answer."""
        proposed = line["answers"][0]["proposed"]
        currency = proposed.get("currency")
        entries = {field.name: entry(field, proposed.get(field.name), currency) for field in self.fields}
        return {**line, "fields": entries, "refused": {}}


def proposals(answer: Message | None) -> dict[str, Any]:
    """Return the values that the model answered; none if its answer was cut off."""
    for call in answer.tool_calls if answer else ():
        with suppress(ValueError):
            return dict(json.loads(call.arguments))
    return {}


def entry(field: Field, value: Any, currency: Any = None) -> dict[str, Any]:
    """Return a value in the form that the truth has, with the model's own words as its quote.

    >>> entry(Field("starts", "date"), "1 March 2024")
    {'value': '2024-03-01', 'quote': '1 March 2024'}
    >>> entry(Field("total", "money"), "9.50", "EUR")
    {'value': {'amount': 9.5, 'currency': 'EUR'}, 'quote': '9.50'}
    """
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    found = None if value is None else _found(field, value, words)
    if field.kind == "money" and found is not None and not found["currency"] and currency:
        text = f"{words} {currency}"
        found = _found(field, text, text) or found
    return {"value": value if found is None else found, "quote": words}


def _found(field: Field, value: Any, words: str) -> Any:
    """Return a value as it is read in the model's words; None if it is not."""
    found = find_evidence(field, value, SourceText(words))
    return None if isinstance(found, Refusal) else found.value
