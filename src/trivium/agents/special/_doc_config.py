"""The config of agents that answer from documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import Field, field_validator

from trivium.agents._config import ChatAgentConfig, is_model
from trivium.schema.signals import NO_ANSWER

_SYSTEM_MESSAGE: Final = (
    "You answer questions from numbered sentences of documents. Answer in one or two full sentences, only with what "
    "they say. Put the number of the sentence behind it, for instance [2]."
)


class DocChatAgentConfig(ChatAgentConfig):
    """The config of an agent that answers from documents.

    Args:
        vecdb: the store of its documents, or the config of one; None: a store in memory.
        parsing: the splitting of documents, as a `ParsingConfig`; "": as suits the format of each.
        doc_paths: files, folders and URLs, or one, that are read before the first question. If none can be read, or the
            list is empty and there are no other documents, that question raises the error with the reason; if some
            cannot, a warning names them.
        n_similar_chunks: the number of passages that are found for a question, before the steps that choose among them.
        n_neighbor_chunks: the number of chunks on each side of a found one that belong to its passage.
        n_relevant_chunks: the most passages that the model reads.
        max_context: the most characters of documents in a request; the embedded model reads some 300 a second. Of
            longer passages it reads the sentences nearest to the question, with those around them.
        filter: a condition on the metadata of the chunks to search; see `Where`. None: all chunks.
        conversation_mode: make a question complete from the conversation before it, by one more request to the model.
        confirm: ask the model whether an answer that the documents support is correct, by one more request for a single
            token, if it has read 20 sentences or more, and show it only if it is probably so, else `no_answer`; the
            text then comes all at once, at its end. None: for models whose name says that they have one to four billion
            parameters, which seldom abstain.
        relevance_extractor_config: the model, or the config of one, that picks the relevant sentences; None: the model
            reads all of them, since citations do not need it.
        references: put the list of sources below the answer; else it is only data of the message.
        no_answer: the answer if the documents do not contain one; a task knows the default.
        system_message: the instruction to answer from numbered sentences, with their numbers. Permission to say that
            they do not tell is added, except for the smallest models, whose answers are checked anyway.
    """

    name: str = "DocChatAgent"
    doc_paths: Sequence[str | Path] = ()
    n_similar_chunks: int = Field(default=5, ge=1)
    n_neighbor_chunks: int = Field(default=2, ge=0)
    n_relevant_chunks: int = Field(default=5, ge=1)
    max_context: int = Field(default=3600, ge=1)
    filter: Any = None
    conversation_mode: bool = True
    confirm: bool | None = None
    relevance_extractor_config: Any = None
    references: bool = True
    no_answer: str = NO_ANSWER
    system_message: str = _SYSTEM_MESSAGE

    @field_validator("doc_paths", mode="before")
    @classmethod
    def _are_several(cls, given: Any) -> Any:
        return [given] if isinstance(given, str | Path) else given

    @field_validator("filter")
    @classmethod
    def _is_filter(cls, given: Any) -> Any:
        from trivium.knowledge.stores import parse_filter  # for those who have one

        parse_filter(given)
        return given

    @field_validator("relevance_extractor_config")
    @classmethod
    def _is_model(cls, given: Any) -> Any:
        if is_model(getattr(given, "llm", given)):
            return given
        raise ValueError(f"relevance_extractor_config is a model, or the config of a model or an agent, not {given!r}")
