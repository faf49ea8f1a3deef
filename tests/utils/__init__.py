"""The stream tools: a model's answer as an asynchronous iterable, and taken apart while it arrives."""
