"""Tools that steer tasks, at the documented paths; `trivium.agent._paths` lists them."""

__all__ = ()
