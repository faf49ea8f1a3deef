"""Objects from configs: what is named is made, and what cannot be is told."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from trivium.exceptions import ConfigurationError, ObjectNotFoundError
from trivium.memory import Memory
from trivium.utils import create_object, load_class_from_string


@pytest.mark.parametrize("kind", [Memory, "trivium.memory.Memory"])
def test_a_config_makes_its_object_anew_each_time(kind: Any):
    config = {"type": kind, "recent_n": 3}
    one, other = create_object(config), create_object(config)
    assert (type(one), one.recent_n) == (Memory, 3)
    assert one is not other
    assert config == {"type": kind, "recent_n": 3}


def test_a_callable_gets_its_keywords():
    bound = create_object({"type": sorted, "reverse": True})
    assert isinstance(bound, partial)
    assert bound([1, 2]) == [2, 1]


@pytest.mark.parametrize("value", [None, 3, "trivium.memory.Memory", [{"type": Memory}], Memory])
def test_what_is_no_config_stays_what_it_is(value: Any):
    assert create_object(value) is value


@pytest.mark.parametrize(
    "config", [{}, {"recent_n": 1}, {"type": None}, {"type": 3}, {"type": "json"}, {"type": "a b.c"}]
)
def test_a_config_without_a_usable_type_is_reported(config: dict[str, Any]):
    with pytest.raises(ConfigurationError):
        create_object(config)


@pytest.mark.parametrize("path", ["nowhere.at.all", "trivium.nothing.Name", "json.Nothing"])
def test_a_path_that_leads_nowhere_is_reported(path: str):
    with pytest.raises(ObjectNotFoundError, match=r"has no 'Nothing'|there is no module"):
        load_class_from_string(path)
    with pytest.raises(ImportError):
        create_object({"type": path})


def test_a_module_that_fails_to_import_something_else_says_so(tmp_path: Any, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "needy.py").write_text("import not_there_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)  # pyright: ignore[reportUnknownMemberType]
    with pytest.raises(ModuleNotFoundError, match="not_there_at_all") as error:
        load_class_from_string("needy.Name")
    assert not isinstance(error.value, ConfigurationError)
