"""Ray: agents as actors, and batches in separate processes, on this machine or others of the cluster."""

from trivium.distributed.ray_serve._actor import AgentRayActor, AsyncAgentRayActor
from trivium.distributed.ray_serve._batch import asking_on_ray

__all__ = ["AgentRayActor", "AsyncAgentRayActor", "asking_on_ray"]
