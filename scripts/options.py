"""Write docs/options-without-effect.md: every option that is accepted and not used, with the reason.

    .venv/bin/python scripts/options.py            writes the file
    .venv/bin/python scripts/options.py --check    says what differs, and exits with 1

Such an option is a field of a `ConfigModel` marked with `NoEffect`, or one of the `options_without_effect` of a class.
"""

from __future__ import annotations

import sys
from pathlib import Path

from page_script import write_or_check

from reference import public_modules

PAGE = Path(__file__).resolve().parents[1] / "docs/options-without-effect.md"
HEAD = """# Options without effect

Programs written for the documented frameworks pass options that trivium accepts but does not use. Setting one to
another value than its default (in the constructor, as an attribute, by `model_copy(update=…)`, or as the default of a
subclass) warns with `trivium.schema.NoEffectWarning`, and nothing else happens. To silence it:

```python
import warnings

from trivium.schema import NoEffectWarning

warnings.simplefilter("ignore", NoEffectWarning)
```

This page is written by `scripts/options.py` from the configs. A config inherits the options of its bases.

| config | option | why it has no effect |
| --- | --- | --- |
"""


def page() -> str:
    """Return the page, one row for each option, at the class that declares it."""
    public = (getattr(module, name) for module in public_modules() for name in module.__all__)
    configs = {each for each in public if isinstance(each, type) and hasattr(each, "options_without_effect")}
    rows = {
        f"| `{config.__name__}` | `{name}` | {reason} |\n"
        for config in configs
        for name, reason in config.options_without_effect.items()
        if name in config.__annotations__
    }
    return HEAD + "".join(sorted(rows))


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page, "the configs", __doc__))
