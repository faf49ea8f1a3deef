"""The bases of the library's models: built when they are first used, and the names of pydantic's first version."""

from __future__ import annotations

import json
from inspect import Signature, signature
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from trivium.exceptions import ArgumentTypeError


class _SignatureOnceBuilt:
    """The signature of a model, which pydantic writes on the class when it builds the validator."""

    def __get__(self, instance: object, owner: type[BaseModel]) -> Signature:
        if owner.model_rebuild(raise_errors=False) is False:  # else it has replaced this
            raise AttributeError("__signature__")
        return signature(owner)


class BuiltLate(BaseModel):
    """A model of the library, whose validator pydantic builds when it is first used; a user's subclass at once.

    Most programs validate none of them: without it a fifth of the import's time is spent on validators. What is wrong
    in a class of a user is told where the class stands, as pydantic tells it of any other.

    Raises:
        ArgumentTypeError: the constructor takes no value of a name; the text suggests the closest. Or a value comes
            without a name.
    """

    model_config = ConfigDict(defer_build=True)

    further_names: ClassVar[tuple[str, ...]] = ()
    """The names that the constructor takes beside those of its fields."""
    if not TYPE_CHECKING:  # a checker would allow any keyword

        def __init__(*given: Any, **data: Any) -> None:  # as the first one it stands in no signature
            self, *unnamed = given
            if unnamed:
                raise ArgumentTypeError(f"{type(self).__name__} takes keywords: {', '.join(type(self).model_fields)}")
            try:
                self.__pydantic_validator__.validate_python(data, self_instance=self)
            except ValidationError as error:
                fields, unknown = type(self).model_fields, "literal_error" if self.further_names else "extra_forbidden"
                known = [*fields, *self.further_names, *(each.alias for each in fields.values() if each.alias)]
                for name in [str(each["loc"][0]) for each in error.errors() if each["type"] == unknown and each["loc"]]:
                    if name not in known:
                        raise ArgumentTypeError.unknown_field(type(self), name, known) from None
                raise

        __init__.__pydantic_base_init__ = True  # so that validation goes without it

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if cls.__module__.startswith("trivium."):
            setattr(cls, "__signature__", _SignatureOnceBuilt())  # noqa: B010 - pydantic's type is that of the value
        else:
            cls.model_rebuild(raise_errors=False)


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
