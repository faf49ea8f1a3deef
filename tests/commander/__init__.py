"""The run tree, the doors, jobs and handlers."""
