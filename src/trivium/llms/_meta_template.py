"""Meta templates: the form of roles in a prompt, or in the messages of an interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from trivium.exceptions import ConfigurationError, MissingEntryError, UnknownRoleError
from trivium.schema.lowlevel import checked

RoleEntry: TypeAlias = Mapping[str, Any]
MetaTemplate: TypeAlias = Sequence[RoleEntry]
"""One entry for each role.

For a prompt: `role`; `begin`, the text before a message, or a dict of `with_name` (has `{name}`), `without_name` and
`name` (forms of names); `end`, the text after it; `generate`, true if a last message of this role is left open;
`fallback_role`, the role whose entry is used instead.
For an interface: `role`, `api_role`, `begin`, `end`.
"""

_NAMES: Final = {"interpreter": "<|interpreter|>", "plugin": "<|plugin|>"}

INTERNLM2_META: Final[MetaTemplate] = tuple(
    {
        "role": role,
        "begin": {
            "with_name": f"<|im_start|>{role} name={{name}}\n",
            "without_name": f"<|im_start|>{role}\n",
            **({} if role == "user" else {"name": dict(_NAMES)}),
        },
        "end": "<|im_end|>\n",
    }
    for role in ("system", "user", "assistant", "environment")
)
"""The prompt format of InternLM2, Qwen and others that write `<|im_start|>`."""


class _Roles:
    """The entries of a meta template by role.

    Raises:
        MissingEntryError: an entry has no role, or two have the same.
    """

    @checked
    def __init__(self, meta_template: MetaTemplate | None = None) -> None:
        self.meta_template = meta_template
        self.roles: dict[str, RoleEntry] = {}
        for entry in meta_template or ():
            role = entry.get("role") if isinstance(entry, Mapping) else None  # pyright: ignore[reportUnnecessaryIsInstance] # fmt: skip
            if not isinstance(role, str) or role in self.roles:
                text = f"each entry of a meta template has a role of its own; this has not: {entry!r}"
                raise MissingEntryError(text, ("role",))
            self.roles[role] = _checked(entry)

    def entry(self, role: object) -> RoleEntry:
        """Return the entry of a role.

        Raises:
            UnknownRoleError: the template has no such role.
        """
        found = self.roles.get(role) if isinstance(role, str) else None
        if found is not None and found.get("fallback_role"):
            role, found = found["fallback_role"], self.roles.get(found["fallback_role"])
        if found is None:
            raise UnknownRoleError(
                f"the meta template has no role {role!r}: take {', '.join(self.roles)}, or add an entry", str(role)
            )
        return found


class LMTemplateParser(_Roles):
    """Writes chat messages as one prompt.

    Without a template the contents are joined by line breaks.

    Args:
        meta_template: the form of each role.

    Raises:
        MissingEntryError: an entry has no role, or two have the same.

    Example:
        >>> parse = LMTemplateParser(INTERNLM2_META)
        >>> print(parse([{"role": "user", "content": "hi"}]))
        <|im_start|>user
        hi<|im_end|>
        <|im_start|>assistant
        <BLANKLINE>
    """

    @checked
    def __call__(self, dialog: str | Sequence[str | RoleEntry]) -> str:
        """Return the prompt of a dialog; a text is a prompt already, and stays unchanged in a dialog.

        Raises:
            UnknownRoleError: a message has a role that the template does not have.
        """
        if isinstance(dialog, str):
            return dialog
        _check_messages(dialog, str, dict, Mapping)
        if not self.roles:
            return "\n".join(filter(None, map(_content, dialog)))
        parts = [each if isinstance(each, str) else self._written(each) for each in dialog]
        last = dialog[-1] if dialog else ""
        entry = self.entry("assistant" if isinstance(last, str) else last.get("role"))
        if not isinstance(last, str) and entry.get("generate"):
            parts[-1] = parts[-1].removesuffix(entry.get("end", ""))
        elif not isinstance(last, str) and entry["role"] != "assistant":
            parts.append(self._begin({"role": "assistant"}))
        return "".join(parts)

    def _written(self, message: RoleEntry) -> str:
        end = self.entry(message.get("role")).get("end", "")
        return f"{self._begin(message)}{_content(message)}{end}"

    def _begin(self, message: RoleEntry) -> str:
        begin, name = self.entry(message.get("role")).get("begin", ""), message.get("name")
        if isinstance(begin, str):
            return begin
        if name is None:
            return begin.get("without_name", "")
        return begin.get("with_name", "").replace("{name}", begin.get("name", {}).get(str(name), str(name)))


class APITemplateParser(_Roles):
    """Gives chat messages the roles of an interface; consecutive messages that then have one role are joined.

    Without a template the messages are unchanged.

    Args:
        meta_template: the `api_role` of each role.

    Raises:
        MissingEntryError: an entry has no role, or two have the same.

    Example:
        >>> parse = APITemplateParser([{"role": role, "api_role": "user"} for role in ("user", "environment")])
        >>> parse([{"role": "user", "content": "2 + 2?"}, {"role": "environment", "content": "4"}])
        [{'role': 'user', 'content': '2 + 2?\\n4'}]
    """

    @checked
    def __call__(self, dialog: str | Sequence[RoleEntry]) -> list[dict[str, Any]]:
        """Return the messages for the interface; a text is a user's message.

        Raises:
            UnknownRoleError: a message has a role that the template does not have.
        """
        messages = [{"role": "user", "content": dialog}] if isinstance(dialog, str) else list(dialog)
        _check_messages(messages, dict, Mapping)
        if not self.roles:
            return [dict(message) for message in messages]
        runs: list[list[dict[str, Any]]] = []
        for message in map(self.converted, messages):
            if runs and runs[-1][0]["role"] == message["role"] and _joinable(runs[-1][-1]) and _joinable(message):
                runs[-1].append(message)
            else:
                runs.append([message])
        return [run[0] if len(run) == 1 else _joined(run) for run in runs]

    def converted(self, message: RoleEntry) -> dict[str, Any]:
        """Return a message with the interface's role, and the template's texts around its content."""
        role = message.get("role")
        if role == "tool" and role not in self.roles:  # the result of a native call: the interface's own
            return dict(message)
        entry = self.entry(role)
        content = message.get("content", "")
        if isinstance(content, str):
            content = f"{entry.get('begin', '')}{content}{entry.get('end', '')}"
        return {**message, "role": entry.get("api_role", role), "content": content}


_TEXTS: Final = ("end", "api_role", "fallback_role")
_OF_BEGIN: Final = {"with_name": str, "without_name": str, "name": dict}


def _checked(entry: RoleEntry) -> RoleEntry:
    begin = entry.get("begin", "")
    wrong = [name for name in _TEXTS if not isinstance(entry.get(name) or "", str)]
    if isinstance(begin, Mapping):
        given = cast("RoleEntry", begin)
        wrong += [f"begin.{name}" for name, kind in _OF_BEGIN.items() if not isinstance(given.get(name, kind()), kind)]
    elif not isinstance(begin, str):
        wrong.append("begin")
    if wrong:
        raise ConfigurationError(
            f"the meta template's entry of {entry['role']!r} has a wrong {', '.join(wrong)}: all are texts, but for "
            "`begin`, which may be a dict of with_name, without_name and name, itself a dict"
        )
    return entry


def _check_messages(dialog: Sequence[object], *kinds: type) -> None:
    for each in dialog:
        if not isinstance(each, kinds):
            raise ConfigurationError(f"a chat message is a dict with role and content, not {type(each).__name__}")


def _content(message: str | RoleEntry) -> str:
    content = message if isinstance(message, str) else message.get("content")
    return "" if content is None else str(content)


def _joined(run: Sequence[RoleEntry]) -> dict[str, Any]:
    return {**run[0], "content": "\n".join(message["content"] for message in run)}


def _joinable(message: RoleEntry) -> bool:
    plain = (
        isinstance(message.get("content"), str) and not message.get("tool_calls") and not message.get("tool_call_id")
    )
    return plain and message["role"] != "tool"
