"""Parts of llms for trivium's own packages and for authors of extensions: stable, but not for everyday programs.

Each name is imported when it is first used, so that this module costs nothing by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.llms._call import REPLY_TYPES, asked_of, call_model, is_model_call, made_of, model_node
    from trivium.llms._locks import OwnLock
    from trivium.llms._openai import OPENAI_PATH, profile_of, request_openai
    from trivium.llms._parameters import SAMPLING_KEYWORDS, common_names
    from trivium.llms._prices import FILE_TOKENS, priced, unknown_price
    from trivium.llms._protocol import LongHistory, Written
    from trivium.llms._provider_model import key_headers, keys_for
    from trivium.llms._wrapped import WrappedModel, deltas_of
    from trivium.llms.local._catalogue import CATALOGUE
    from trivium.llms.local._engine import load_library, physical_cores

__all__ = [
    "CATALOGUE",
    "FILE_TOKENS",
    "OPENAI_PATH",
    "REPLY_TYPES",
    "SAMPLING_KEYWORDS",
    "LongHistory",
    "OwnLock",
    "WrappedModel",
    "Written",
    "asked_of",
    "call_model",
    "common_names",
    "deltas_of",
    "is_model_call",
    "key_headers",
    "keys_for",
    "load_library",
    "made_of",
    "model_node",
    "physical_cores",
    "priced",
    "profile_of",
    "request_openai",
    "unknown_price",
]

_HOMES = {
    "CATALOGUE": "local._catalogue",
    "FILE_TOKENS": "_prices",
    "OPENAI_PATH": "_openai",
    "REPLY_TYPES": "_call",
    "SAMPLING_KEYWORDS": "_parameters",
    "LongHistory": "_protocol",
    "OwnLock": "_locks",
    "is_model_call": "_call",
    "WrappedModel": "_wrapped",
    "Written": "_protocol",
    "asked_of": "_call",
    "call_model": "_call",
    "common_names": "_parameters",
    "deltas_of": "_wrapped",
    "key_headers": "_provider_model",
    "keys_for": "_provider_model",
    "load_library": "local._engine",
    "made_of": "_call",
    "model_node": "_call",
    "physical_cores": "local._engine",
    "priced": "_prices",
    "unknown_price": "_prices",
    "profile_of": "_openai",
    "request_openai": "_openai",
}
lazy_names(__name__, _HOMES, __all__, below="trivium.llms")
