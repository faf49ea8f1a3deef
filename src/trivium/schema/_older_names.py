"""The names of pydantic's first version, which the documents use."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from trivium.schema._built_late import BuiltLate

if TYPE_CHECKING:
    OlderNames = BaseModel
else:

    class _OlderFields(type(BaseModel)):
        __fields__ = property(lambda cls: cls.model_fields)

    class OlderNames(BuiltLate, metaclass=_OlderFields):
        """The names of pydantic's first version, as the documents have them, without its warnings."""

        dict, json = BaseModel.model_dump, BaseModel.model_dump_json
        schema = classmethod(BaseModel.model_json_schema.__func__)
        parse_obj = classmethod(BaseModel.model_validate.__func__)
        parse_raw = classmethod(BaseModel.model_validate_json.__func__)
        __fields__ = property(lambda self: type(self).model_fields)
        __fields_set__ = BaseModel.model_fields_set

        @classmethod
        def construct(cls, *given: Any, **values: Any) -> Any:
            """Make an object of these values without validation."""
            return cls.model_construct(*given, **values)

        @classmethod
        def schema_json(cls, **options: Any) -> str:
            """The JSON schema as text; options are those of `json.dumps`."""
            return json.dumps(cls.model_json_schema(), **options)
