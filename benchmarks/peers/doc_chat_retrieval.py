"""What Langroid's DocChatAgent retrieves: run by benchmarks/knowledge/recall.py in the environment of the peer.

``python doc_chat_retrieval.py FOLDER COUNT``, where the folder holds texts.json (the chunks), vectors.npy (a row for
each), questions.json and question_vectors.npy. It prints, as JSON, the numbers of the COUNT chunks that each question
gets, best first.

The agent has its defaults, but for what the comparison needs: so many chunks at the end, the texts as they were cut
(the same as for the others), the same vectors (looked up, so that nothing is embedded twice), and Qdrant in a folder.
Its cross-encoder is a model that would have to be fetched, and is left out, as it is by default where its extra is not
installed; it fuses by reciprocal ranks then. Reordering for diversity and periphery is off: of the same chunks.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

WORDNET = Path("/usr/share/wordnet")
LEXNAMES = 45  # kinds of words, which Debian's package leaves out and the lemmatizer does not look at


def nltk_data(folder: Path) -> str:
    """A place where NLTK finds what the agent's BM25 asks for: WordNet of Debian, and a list of stop words."""
    if not (WORDNET / "index.noun").exists():
        raise SystemExit("Langroid's BM25 needs WordNet: apt-get install wordnet-base")
    cache = next(Path(sys.prefix).glob("lib/python*/site-packages/llama_index/core/_static/nltk_cache"))
    shutil.copytree(cache, folder, copy_function=shutil.copyfile)  # NLTK reads no links
    target = folder / "corpora" / "wordnet"
    shutil.copytree(WORDNET, target, copy_function=shutil.copyfile)
    (target / "lexnames").write_text("".join(f"{n:02}\tkind{n}\t1\n" for n in range(LEXNAMES)), encoding="utf-8")
    (target / "index.sense").touch()  # not in the package either, and not looked at
    return str(folder)


def main() -> int:
    """Ingest the chunks, ask the questions."""
    folder, count = Path(sys.argv[1]), int(sys.argv[2])
    work = Path(tempfile.mkdtemp(dir=folder))
    os.environ["NLTK_DATA"] = nltk_data(work / "nltk")
    cache = Path(sys.prefix).glob("lib/python*/site-packages/llama_index/core/_static/tiktoken_cache")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(next(cache, ""))
    os.chdir(work)

    import numpy
    from langroid.agent.special.doc_chat_agent import DocChatAgent, DocChatAgentConfig
    from langroid.embedding_models.base import EmbeddingModel, EmbeddingModelsConfig
    from langroid.language_models.mock_lm import MockLMConfig
    from langroid.mytypes import DocMetaData, Document
    from langroid.utils.configuration import settings
    from langroid.vector_store.qdrantdb import QdrantDBConfig

    settings.quiet, settings.cache = True, False
    texts: list[str] = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
    questions: list[str] = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    rows = numpy.load(folder / "vectors.npy"), numpy.load(folder / "question_vectors.npy")
    known = {"test": rows[0][0]} | dict(zip(texts, rows[0], strict=True))
    known |= dict(zip(questions, rows[1], strict=True))

    class Given(EmbeddingModel):
        """Vectors that were made before."""

        def embedding_fn(self):
            return lambda some: [known[text].tolist() for text in some]

        @property
        def embedding_dims(self) -> int:
            return rows[0].shape[1]

    store = QdrantDBConfig(
        cloud=False,
        collection_name="bench",
        storage_path=str(work / "qdrant"),
        embedding=EmbeddingModelsConfig(),
        embedding_model=Given(),
        replace_collection=True,
        batch_size=500,
    )
    config = DocChatAgentConfig(
        llm=MockLMConfig(),
        vecdb=store,
        n_relevant_chunks=count,
        n_similar_chunks=count,
        cross_encoder_reranking_model="",
        rerank_diversity=False,
        rerank_periphery=False,
        relevance_extractor_config=None,
    )
    agent = DocChatAgent(config)
    made = [
        Document(content=text, metadata=DocMetaData(source=str(number), is_chunk=True))
        for number, text in enumerate(texts)
    ]
    agent.ingest_docs(made, split=False)
    found = [[int(chunk.metadata.source) for chunk in agent.get_relevant_chunks(text)] for text in questions]
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
