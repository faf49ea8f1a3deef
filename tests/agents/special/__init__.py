"""Tests of the agents that are shipped: documents, passages, long-term memory."""
