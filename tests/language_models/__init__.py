"""Models made from configs."""
