"""The agent that asks databases, at the documented path; see `trivium.agent._paths`."""

from trivium.agent._paths import names_at

__getattr__, __dir__ = names_at(__name__)
