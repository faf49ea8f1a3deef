"""The parser of the documents: chunks by tokens and a config, made by the chunkers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Annotated, Any, Self, cast

from pydantic import Field, model_validator

from trivium.exceptions import ConfigurationError
from trivium.parsing._chunk import Chunk, check_documents
from trivium.parsing._passages import border
from trivium.parsing.chunks import chunk, chunk_text, chunk_tokens, estimate_tokens
from trivium.parsing.chunks._blocks import Block, Count, Sizes, chunks_from
from trivium.parsing.formats._formats import suffix_of
from trivium.parsing.formats._media_types import MARKDOWN, PLAIN, text_type
from trivium.schema import ConfigModel, Document, NoEffect
from trivium.schema.lowlevel import OlderNames, checked


class Splitter(str, Enum):
    """The rule by which documents are split.

    MARKDOWN follows the structure that the media type implies, and takes plain text for Markdown. PARA_SENTENCE cuts
    between paragraphs and sentences, TOKENS fills chunks up to their size, SIMPLE cuts at `ParsingConfig.separators`.
    """

    TOKENS = "tokens"
    PARA_SENTENCE = "para_sentence"
    MARKDOWN = "markdown"
    SIMPLE = "simple"


class ParsingConfig(ConfigModel, OlderNames):
    """Settings for splitting documents into chunks.

    Args:
        splitter: the rule of splitting.
        chunk_size: approximate maximum size of a chunk, in tokens.
        overlap: maximum number of tokens that repeat the end of the chunk before; below `chunk_size`, and at most half
            of it is used. Default 50, or half of a smaller size.
        max_chunks: maximum number of chunks of one document; more raise an error.
        min_chunk_chars: no effect.
        discard_chunk_chars: chunks of fewer characters are left out.
        n_neighbor_ids: number of chunks before and after each one that are listed in its `window_ids`.
        separators: texts at which SIMPLE cuts, best first.
        token_encoding_model: no effect.
    """

    splitter: Splitter = Splitter.MARKDOWN
    chunk_size: int = Field(default=200, ge=1)
    overlap: int = Field(default_factory=lambda given: min(50, given["chunk_size"] // 2), ge=0)
    max_chunks: int = Field(default=10_000, ge=1)
    min_chunk_chars: Annotated[int, NoEffect("a piece that is cut is at least half as long as it may be")] = 350
    discard_chunk_chars: int = Field(default=5, ge=0)
    n_neighbor_ids: int = Field(default=5, ge=0)
    separators: Sequence[str] = ("\n\n", "\n", " ", "")
    token_encoding_model: Annotated[str, NoEffect("no tokenizer is fetched by name: give one to `Parser`")] = (
        "text-embedding-3-large"  # noqa: S105 - tokens of text
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.overlap >= self.chunk_size:
            raise ValueError(f"overlap must be less than chunk_size: {self.overlap} is not less than {self.chunk_size}")
        return self


class Parser:
    """Counts tokens, and splits documents into chunks by a config.

    Args:
        config: the settings; default: `ParsingConfig()`.
        tokenizer: counts the tokens of a text: a function, or an object with `encode`, as of tiktoken or tokenizers.
            Default: a token is 4 characters, because the tables of a tokenizer would have to be downloaded.

    Example:
        >>> parser = Parser(ParsingConfig(chunk_size=6, overlap=0))
        >>> parser.num_tokens("The rent is 950 EUR.")
        5
        >>> letter = Document.from_string("The rent is 950 EUR. Dogs are welcome.", is_chunk=False)
        >>> [each.content for each in parser.split([letter])]
        ['The rent is 950 EUR.', 'Dogs are welcome.']
    """

    @checked
    def __init__(self, config: ParsingConfig | None = None, tokenizer: Any = None) -> None:
        self.config = ParsingConfig() if config is None else config
        self._count = token_counter(tokenizer)

    @checked
    def num_tokens(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return self._count(text)

    def truncate_tokens(self, text: str, max_tokens: int) -> str:
        """Return the longest beginning of a text that has at most `max_tokens` tokens."""
        if self._count(text) <= max_tokens:
            return text
        fits, too_long = 0, len(text)
        while too_long - fits > 1:
            middle = (fits + too_long) // 2
            fits, too_long = (middle, too_long) if self._count(text[:middle]) <= max_tokens else (fits, middle)
        return text[:fits]

    def chunk_tokens(self, text: str) -> list[str]:
        """Split a text into pieces of at most `chunk_size` tokens."""
        sizes: dict[str, Any] = {"size": self.config.chunk_size, "count": self._count}
        return [each.content for each in chunk_tokens(Document(content=text), **sizes)]

    @checked
    def split(self, docs: Sequence[Document]) -> list[Document]:
        """Return the chunks of some documents; documents that are chunks already stay as they are.

        Raises:
            ArgumentTypeError: `docs` is not a list of documents.
            ConfigurationError: a document has more chunks than `max_chunks`.
        """
        check_documents(docs)
        return [each for document in docs for each in self._split(document)]

    def _split(self, document: Document) -> Sequence[Document]:
        if document.metadata.is_chunk:
            return [document]
        config = self.config
        found = [each for each in self.chunks_of(document) if len(each.content) >= config.discard_chunk_chars]
        if len(found) > config.max_chunks:
            raise ConfigurationError(
                f"{document.metadata.source} has {len(found)} chunks, and max_chunks is {config.max_chunks}: raise it, "
                "or chunk_size"
            )
        self.add_window_ids(found)
        return found

    def chunks_of(self, document: Document) -> Iterator[Chunk]:
        """Return all chunks of one document, short ones too, by the splitter of the config."""
        return chunk(document, chunker=self._cut)

    def _cut(self, document: Document) -> Iterator[Chunk]:
        config, about = self.config, document.metadata
        overlap = min(config.overlap, config.chunk_size // 2)
        sizes: dict[str, Any] = {"size": config.chunk_size, "overlap": overlap, "count": self._count}
        if config.splitter is Splitter.TOKENS:
            return chunk_tokens(document, **sizes)
        if config.splitter is Splitter.PARA_SENTENCE:
            return chunk_text(document, **sizes)
        if config.splitter is Splitter.MARKDOWN:
            if about.media_type == PLAIN and text_type(suffix_of(about.source)) in (None, PLAIN):
                about = about.model_copy(update={"media_type": MARKDOWN})  # its file name does not tell another format
                document = Document(content=document.content, metadata=about)
            return chunk(document, **sizes)
        borders = tuple(border(re.escape(each)) for each in config.separators if each)
        whole = Block(0, len(document.content), "", borders)
        return chunks_from(document, [whole] if document.content else [], Sizes(**sizes))

    def add_window_ids(self, chunks: Sequence[Document]) -> None:
        """Set the `window_ids` of each chunk: the ids of the chunks around it and its own, in order."""
        reach = self.config.n_neighbor_ids
        ids = [each.metadata.id for each in chunks]
        for number, each in enumerate(chunks):
            each.metadata.window_ids = ids[max(0, number - reach) : number + reach + 1]


def token_counter(tokenizer: object) -> Count:
    """Return the function that counts tokens by a tokenizer; None: one token for 4 characters.

    Raises:
        ConfigurationError: it is neither a function nor an object with `encode`.
    """
    if tokenizer is None:
        return estimate_tokens
    # `encode` of tiktoken refuses the text of special tokens.
    encode: Callable[[str], Any] | None = getattr(tokenizer, "encode_ordinary", getattr(tokenizer, "encode", None))
    if encode is not None:
        return lambda text: len(encode(text))
    if callable(tokenizer):
        return cast("Count", tokenizer)
    kind = type(tokenizer).__name__
    raise ConfigurationError(f"{kind} does not count tokens: give a function, or an object with `encode`")
