"""Names of `trivium.llms` that were also names of something else: the old ones still work, and warn."""

from __future__ import annotations

import pytest

from trivium import llms


@pytest.mark.parametrize(
    ("old", "new"),
    [("LanguageModel", "ModelProtocol"), ("AnthropicModel", "ClaudeModel"), ("GeminiModel", "GoogleModel")],
)
def test_an_old_name_gives_the_class_and_warns_at_the_line_that_uses_it(old: str, new: str):
    with pytest.warns(DeprecationWarning, match=f"{old} is now called {new}") as caught:
        found = getattr(llms, old)
    assert found is getattr(llms, new)
    assert [each.filename for each in caught] == [__file__]
    assert old not in dir(llms)
