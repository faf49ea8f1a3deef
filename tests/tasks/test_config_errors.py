"""Wrong options of a config, told apart: a name that it does not take, and a value that it does not."""

from __future__ import annotations

from typing import Any, Literal, Self, cast

import pytest
from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from trivium import TaskConfig
from trivium.exceptions import ArgumentTypeError


class KindConfig(TaskConfig):
    """Has an option that is given by another name, and a check of its own."""

    kind: Literal["a", "b"] = Field(default="a", alias="type")

    @model_validator(mode="after")
    def check(self) -> Self:
        if self.kind == "b":
            raise PydanticCustomError("literal_error", "b is no kind today")
        return self


@pytest.mark.parametrize("wrong", ["c", "b"])
def test_a_wrong_value_of_a_config_is_no_unknown_name(wrong: str):
    with pytest.raises(ValidationError):
        KindConfig(type=cast("Any", wrong))
    with pytest.raises(ArgumentTypeError, match="did you mean type"):
        KindConfig(**cast("dict[str, Any]", {"tpye": "a"}))
