"""The run tree, the entry points, jobs and handlers."""
