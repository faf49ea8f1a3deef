"""Agents as actors of Ray: in a process of their own, on this machine or another of the cluster."""

from trivium.distributed.ray_serve._actor import AgentRayActor, AsyncAgentRayActor

__all__ = ["AgentRayActor", "AsyncAgentRayActor"]
