"""The names at the documented paths of agents, and the package of trivium that each of them comes from."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

__all__ = ["PATHS"]

_SEQUENCES: Final = {"AgentEvent": "tasks", "DoneSequence": "tasks", "EventType": "tasks"}
_DOCUMENT: Final = {
    "ChatDocLoggerFields": "schema",
    "ChatDocMetaData": "schema",
    "ChatDocument": "schema",
    "StatusCode": "schema",
}
_ORCHESTRATION: Final = {
    "AgentDoneTool": "actions",
    "AgentSendTool": "actions",
    "DonePassTool": "actions",
    "DoneTool": "actions",
    "FinalResultTool": "actions",
    "ForwardTool": "actions",
    "PassTool": "actions",
    "ResultTool": "actions",
    "SendTool": "actions",
}
_DATABASES: Final = {"SQLChatAgent": "agents.special", "SQLChatAgentConfig": "agents.special"}
_QUERIES: Final = {
    "GetColumnDescriptionsTool": "agents.special.sql",
    "GetTableNamesTool": "agents.special.sql",
    "GetTableSchemaTool": "agents.special.sql",
    "RunQueryTool": "agents.special.sql",
}
_TABLES: Final = {"TableChatAgent": "agents.special", "TableChatAgentConfig": "agents.special"}
_DOCUMENTS: Final = {"DocChatAgent": "agents.special", "DocChatAgentConfig": "agents.special"}
_GRAPHS: Final = {
    "Neo4jChatAgent": "agents.special",
    "Neo4jChatAgentConfig": "agents.special",
    "Neo4jSettings": "agents.special",
}
_RECIPIENTS: Final = {"AddRecipientTool": "actions", "RecipientTool": "actions"}
_REWINDING: Final = {"RewindTool": "actions"}
_PASSAGES: Final = {"RetrieverAgent": "agents.special", "RetrieverAgentConfig": "agents.special"}

PATHS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "trivium.agent.base": {"Agent": "agents", "AgentConfig": "agents"},
        "trivium.agent.batch": {
            "ExceptionHandling": "tasks",
            "agent_response_batch": "tasks",
            "llm_response_batch": "tasks",
            "run_batch_agent_method": "tasks",
            "run_batch_function": "tasks",
            "run_batch_task_gen": "tasks",
            "run_batch_tasks": "tasks",
        },
        "trivium.agent.chat_agent": {"ChatAgent": "agents", "ChatAgentConfig": "agents"},
        "trivium.agent.chat_document": _DOCUMENT,
        "trivium.agent.done_sequence_parser": {
            **_SEQUENCES,
            "parse_done_sequence": "tasks",
            "parse_done_sequences": "tasks",
        },
        "trivium.agent.special": {**_DATABASES, **_DOCUMENTS, **_GRAPHS, **_PASSAGES, **_TABLES},
        "trivium.agent.special.doc_chat_agent": _DOCUMENTS,
        "trivium.agent.special.neo4j": _GRAPHS,
        "trivium.agent.special.neo4j.neo4j_chat_agent": _GRAPHS,
        "trivium.agent.special.retriever_agent": _PASSAGES,
        "trivium.agent.special.sql": _DATABASES,
        "trivium.agent.special.sql.sql_chat_agent": _DATABASES,
        "trivium.agent.special.sql.utils": _QUERIES,
        "trivium.agent.special.sql.utils.tools": _QUERIES,
        "trivium.agent.special.table_chat_agent": _TABLES,
        "trivium.agent.task": {**_SEQUENCES, "Responder": "tasks", "Task": "tasks", "TaskConfig": "tasks"},
        "trivium.agent.tool_message": {"ToolMessage": "actions"},
        "trivium.agent.tools": {**_ORCHESTRATION, **_RECIPIENTS, **_REWINDING},
        "trivium.agent.tools.orchestration": _ORCHESTRATION,
        "trivium.agent.tools.recipient_tool": _RECIPIENTS,
        "trivium.agent.tools.rewind_tool": _REWINDING,
        "trivium.agent.tools.task_tool": {"TaskTool": "tasks"},
        "trivium.agent.xml_tool_message": {"XMLToolMessage": "actions"},
        "trivium.embedding_models": {
            "EmbeddingModel": "knowledge.embeddings",
            "EmbeddingModelsConfig": "knowledge.embeddings",
            "OpenAIEmbeddingsConfig": "knowledge.embeddings",
            "embedding_model": "knowledge.embeddings",
        },
        "trivium.vector_store": {
            "ChromaDB": "vector_store.chromadb",
            "ChromaDBConfig": "vector_store.chromadb",
            "LanceDB": "vector_store.lancedb",
            "LanceDBConfig": "vector_store.lancedb",
            "PostgresDB": "vector_store.postgres",
            "PostgresDBConfig": "vector_store.postgres",
            "QdrantDB": "vector_store.qdrantdb",
            "QdrantDBConfig": "vector_store.qdrantdb",
            "VectorStore": "knowledge.stores",
            "VectorStoreConfig": "knowledge.stores",
        },
    }
)
"""For each path its names, and for each name the package of trivium that gives it."""
