"""The `trivium` command, as a process of its own: what people and programs see of it."""
