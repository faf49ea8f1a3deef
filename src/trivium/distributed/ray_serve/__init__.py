"""Agents as actors of Ray: in separate processes, on this machine or another of the cluster."""

from trivium.distributed.ray_serve._actor import AgentRayActor, AsyncAgentRayActor

__all__ = ["AgentRayActor", "AsyncAgentRayActor"]
