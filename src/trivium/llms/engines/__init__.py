"""Language models by other engines: vLLM, LMDeploy and transformers, in this process or as a server.

None of these packages comes with trivium: install the build that fits the machine. Each is imported when a model
of it is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.llms.engines._lmdeploy import AsyncLMDeployPipeline, LMDeployPipeline
    from trivium.llms.engines._lmdeploy_server import (
        AsyncLMDeployClient,
        AsyncLMDeployServer,
        LMDeployClient,
        LMDeployServer,
    )
    from trivium.llms.engines._transformers import HFTransformer, HFTransformerCasualLM, HFTransformerChat
    from trivium.llms.engines._vllm import AsyncVllmModel, VllmModel

__all__ = [
    "AsyncLMDeployClient",
    "AsyncLMDeployPipeline",
    "AsyncLMDeployServer",
    "AsyncVllmModel",
    "HFTransformer",
    "HFTransformerCasualLM",
    "HFTransformerChat",
    "LMDeployClient",
    "LMDeployPipeline",
    "LMDeployServer",
    "VllmModel",
]

_HOMES = {
    "AsyncLMDeployClient": "_lmdeploy_server",
    "AsyncLMDeployPipeline": "_lmdeploy",
    "AsyncLMDeployServer": "_lmdeploy_server",
    "AsyncVllmModel": "_vllm",
    "HFTransformer": "_transformers",
    "HFTransformerCasualLM": "_transformers",
    "HFTransformerChat": "_transformers",
    "LMDeployClient": "_lmdeploy_server",
    "LMDeployPipeline": "_lmdeploy",
    "LMDeployServer": "_lmdeploy_server",
    "VllmModel": "_vllm",
}


lazy_names(__name__, _HOMES, __all__)
