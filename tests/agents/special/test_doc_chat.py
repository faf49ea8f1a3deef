"""Answers from documents: checked, cited, streamed, followed up, and refused where the documents do not tell."""

from __future__ import annotations

import asyncio
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import pytest

from trivium import Task
from trivium.agents.special import DocAnswer, DocChatAgent, DocChatAgentConfig
from trivium.commander import Event
from trivium.exceptions import DocumentNotFoundError, UnreadableDocumentError
from trivium.knowledge.stores import SQLiteStoreConfig
from trivium.llms import DeltaEvent
from trivium.schema import Document, Entity, Message
from trivium.tasks import NO_ANSWER
from trivium.testing import ScriptedModel

from ._documents import LEASE, NUTS, doc_agent, document


def data(message: Message) -> DocAnswer:
    return cast("DocAnswer", message.content_any)


def test_each_statement_bears_the_place_that_holds_it():
    message = doc_agent(["The rent is 950 EUR [2]. It is due on the first of each month."])("When is the rent due?")
    assert message.content == (
        "The rent is 950 EUR [1]. It is due on the first of each month [2].\n\n[1] lease.txt:3\n[2] lease.txt:3-4"
    )
    assert data(message).found
    assert [each.quote for each in data(message).citations] == [
        "The rent is 950 EUR.", "It is due\non the first of each month.",
    ]  # fmt: skip


def test_quotes_stand_letter_for_letter_on_the_lines_that_are_named():
    text = "\n\n\n" + LEASE
    answer = "Pets are allowed [1]. Heating costs extra [1]. The rent is 950 EUR."
    message = doc_agent([answer], document(text, "lease.txt"))("What of pets, heating and rent?")
    assert len(data(message).citations) == 3
    for each in data(message).citations:
        lines = text.split("\n")[each.line - 1 : each.end_line]
        assert each.quote in "\n".join(lines)


@pytest.mark.parametrize(
    "written",
    [
        "The rent is 950 EUR [7].",
        "The rent is 950 EUR.",
        "The rent is 950 EUR [99].",
        "The rent [4] is 950 EUR [1, 5].",
    ],
)
def test_a_citation_that_is_wrong_or_missing_is_put_right(written: str):
    message = doc_agent([written])("How much is the rent?")
    assert [each.place for each in data(message).citations] == ["lease.txt:3"]
    assert data(message).answer == "The rent is 950 EUR [1]."


@pytest.mark.parametrize(
    "written",
    [
        "The rent is 800 EUR [2].",
        "DO-NOT-KNOW",
        "The documents do not mention the rent.",
        "I am sorry, there is no information about that.",
        "Bob pays it with apples [3].",
        "[3]",
    ],
)
def test_what_nothing_holds_is_no_answer(written: str):
    message = doc_agent([written])("How much is the rent?")
    assert message.content == NO_ANSWER
    assert data(message) == DocAnswer(question="How much is the rent?", answer=NO_ANSWER, found=False)


def test_where_nothing_is_found_the_model_cannot_invent():
    assert doc_agent(["Paris is in France."])("Xylophones?").content == NO_ANSWER


def test_the_words_for_no_answer_are_the_callers():
    assert doc_agent(["DO-NOT-KNOW"], no_answer="Not told.")("How much is the rent?").content == "Not told."


def test_what_is_invented_beside_a_true_statement_is_left_out():
    written = "The rent is 950 EUR [2]. It was 700 EUR before. Ask Bob about it."
    assert data(doc_agent([written])("How much is the rent?")).answer == "The rent is 950 EUR [1]."


def test_the_text_of_code_is_not_taken_for_marks():
    text = "Use the function first to get the first item of a list.\n"
    written = "Use the function first to get the first item of a list:\n\n```\nfirst(a)[1] == a[0]\n```"
    message = doc_agent([written], document(text, "code.md"))("How do I get the first item of a list?")
    assert "first(a)[1] == a[0]" in message.content
    assert [each.place for each in data(message).citations] == ["code.md:1"]


# ---- streaming
def spoken(agent: DocChatAgent, question: str) -> tuple[list[str], Message]:
    deltas: list[str] = []

    def listen(event: Event[Any]) -> None:
        if isinstance(event, DeltaEvent):
            deltas.append(str(event.data))

    return deltas, agent(question, listeners=[listen])


def test_what_streams_is_the_message_however_the_model_cuts_it():
    written = "The rent is 950 EUR [2]. It is due on the first of each month [3]."
    whole = doc_agent([written])("When is the rent due?").content
    for size in (1, 2, 3, 7, 40):
        pieces = [written[at : at + size] for at in range(0, len(written), size)]
        deltas, message = spoken(doc_agent([pieces]), "When is the rent due?")
        assert "".join(deltas) == message.content == whole
        assert len(deltas) > 1


def test_nothing_is_shown_that_is_taken_back():
    deltas, message = spoken(doc_agent([["The rent ", "is 800 EUR. ", "It is paid ", "to Bob."]]), "The rent?")
    assert deltas == [NO_ANSWER] == [message.content]


def test_a_model_that_makes_a_question_complete_is_not_heard():
    answers = [
        "The rent is 950 EUR [1].",
        json.dumps({"question": "When is the rent due?"}),
        "It is due on the first [1].",
    ]
    agent = doc_agent(answers, conversation_mode=True)
    agent("How much is the rent?")
    deltas, message = spoken(agent, "And when is it due?")
    assert data(message).question == "When is the rent due?"
    assert "".join(deltas) == message.content
    assert message.content.startswith("It is due on the first [1].")


# ---- conversations
def test_each_session_has_its_own_questions():
    model = ScriptedModel(lambda request: "The rent is 950 EUR [1].")
    agent = doc_agent([])
    agent.llm = model
    agent("How much is the rent?", session_id="ada")
    agent("How much is the rent?", session_id="bob")
    texts = [request.messages[-1]["content"] for request in model.requests]
    assert len(texts) == 2
    assert all("Dialogue" not in text for text in texts)


def test_an_answer_that_was_saved_and_read_again_can_be_followed_up():
    agent = doc_agent(["The rent is 950 EUR [1]."], conversation_mode=True)
    agent("How much is the rent?")
    state = json.loads(json.dumps(agent.state_dict(), default=str))
    again = doc_agent([json.dumps({"question": "Are pets allowed?"}), "Pets are allowed."], conversation_mode=True)
    again.load_state_dict(state)
    assert data(again("And pets?")).question == "Are pets allowed?"


def test_it_answers_async_code_and_one_question_by_itself():
    agent = doc_agent(["The rent is 950 EUR [1].", "Pets are allowed."])
    message = asyncio.run(agent.acall("How much is the rent?"))
    assert data(message).found
    alone = agent.answer_from_docs("Are pets allowed?")
    assert data(alone).citations[0].place == "lease.txt:7"
    assert len(agent.memory.get_memory(0)) == 2


def test_it_answers_in_a_task_and_under_another():
    agent = doc_agent(["The rent is 950 EUR [1]."] * 2)
    result = Task(agent, interactive=False, single_round=True).run("How much is the rent?")
    assert result is not None
    assert result.content.startswith("The rent is 950 EUR [1].")
    assert cast("DocAnswer", result.content_any).citations[0].place == "lease.txt:3"


def test_a_task_knows_that_the_documents_do_not_tell():
    agent = doc_agent(["DO-NOT-KNOW"])
    result = Task(agent, interactive=False, single_round=True, allow_null_result=True).run("Who is king?")
    assert result is not None
    assert NO_ANSWER in result.content


def test_the_message_says_what_it_cites_as_messages_of_documents_do():
    message = doc_agent(["The rent is 950 EUR [1]."])("How much is the rent?")
    assert message.metadata.source == "lease.txt:3"
    assert message.metadata.source_content == "The rent is 950 EUR."
    assert message.metadata.has_citation
    assert message.entity is not Entity.SYSTEM


# ---- its documents
def test_sources_are_listed_replaced_and_dropped():
    agent = doc_agent(["Hazelnuts are brown."] * 3)
    assert [each.source for each in agent.sources()] == ["lease.txt", "nuts.txt"]
    agent.ingest_docs([document("Hazelnuts are green.\n", "nuts.txt")])
    assert agent("What colour are hazelnuts?").content == NO_ANSWER
    agent.ingest_docs([document(NUTS, "nuts.txt")])
    assert data(agent("What colour are hazelnuts?")).found
    assert agent.drop("nuts.txt") == 1
    assert agent("What colour are hazelnuts?").content == NO_ANSWER


def reading_agent(*paths: str | Path, store: str = ":memory:") -> DocChatAgent:
    model = ScriptedModel(["The rent is 950 EUR."] * 3)
    vecdb = SQLiteStoreConfig(storage_path=store, embedding=None)
    return DocChatAgent(DocChatAgentConfig(llm=model, vecdb=vecdb, doc_paths=paths, conversation_mode=False))


@pytest.mark.parametrize("question", ["", "  \n"])
def test_an_empty_question_is_not_answered(question: str):
    message = doc_agent([])(question)
    assert (message.content, data(message).found) == (NO_ANSWER, False)


@pytest.mark.parametrize("kind", [str, Path])
def test_one_path_is_a_list_of_one(tmp_path: Path, kind: type[str] | type[Path]):
    (tmp_path / "lease.txt").write_text(LEASE)
    agent = reading_agent()
    agent.config.doc_paths = DocChatAgentConfig(doc_paths=kind(tmp_path)).doc_paths  # pyright: ignore[reportArgumentType]
    assert data(agent("How much is the rent?")).found


def test_a_warning_of_what_cannot_be_read_names_the_line_of_the_program(tmp_path: Path):
    (tmp_path / "lease.txt").write_text(LEASE)
    agent = reading_agent(tmp_path / "lease.txt", tmp_path / "zzz.txt")
    with pytest.warns(UserWarning, match="not all of doc_paths could be read") as given:
        agent("How much is the rent?")
    assert given[0].filename == __file__


def test_documents_of_a_store_that_are_gone_from_their_folder_are_warned_of(tmp_path: Path):
    folder, store = tmp_path / "lease", str(tmp_path / "docs.db")
    folder.mkdir()
    (folder / "old.txt").write_text("The rent is 900 EUR.")
    (folder / "new.txt").write_text("Pets are allowed.")
    reading_agent(folder, store=store)("How much is the rent?")
    (folder / "old.txt").unlink()
    agent = reading_agent(folder, store=store)
    with pytest.warns(UserWarning, match=r"gone from doc_paths \(1, such as .*old\.txt\): ingest\(prune"):
        agent("How much is the rent?")
    agent.ingest(prune=True)
    assert [each.source for each in agent.sources()] == [str(folder / "new.txt")]


def test_paths_of_which_none_can_be_read_are_an_error_each_time(tmp_path: Path):
    agent = reading_agent(tmp_path / "zzz.txt")
    for _ in range(2):
        with pytest.raises(DocumentNotFoundError, match=r"zzz\.txt: there is no such file"):
            agent("How much is the rent?")
    with pytest.raises(DocumentNotFoundError, match=r"(?s)a\.txt: there is no such file.*b\.txt: there is no such"):
        reading_agent(tmp_path / "a.txt", tmp_path / "b.txt")("How much is the rent?")
    (tmp_path / "b.bin").write_bytes(bytes(range(256)))
    with pytest.raises(UnreadableDocumentError, match=r"nothing could be read from doc_paths"):
        reading_agent(tmp_path / "a.txt", tmp_path / "b.bin")("How much is the rent?")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DocumentNotFoundError, match=r"nothing could be read from doc_paths \(.*empty\)"):
        reading_agent(tmp_path / "empty")("How much is the rent?")


def test_an_empty_list_of_paths_is_an_error_unless_there_are_other_documents():
    agent = reading_agent()
    for _ in range(2):
        with pytest.raises(DocumentNotFoundError, match=r"doc_paths is empty, and there are no other documents: name"):
            agent("How much is the rent?")
    agent.ingest_docs([Document.from_string(LEASE, "lease.txt", is_chunk=False)])
    assert data(agent("How much is the rent?")).found


def test_paths_of_which_some_can_be_read_are_answered_from_with_a_warning(tmp_path: Path):
    (tmp_path / "lease.txt").write_text(LEASE)
    agent = reading_agent(tmp_path / "lease.txt", tmp_path / "zzz.txt")
    with pytest.warns(UserWarning, match=r"zzz\.txt: there is no such file"):
        assert data(agent("How much is the rent?")).found
    assert data(agent("How much is the rent?")).found


def test_what_the_store_has_of_a_path_that_is_gone_is_answered_from(tmp_path: Path):
    (tmp_path / "lease.txt").write_text(LEASE)
    for left in (True, False):
        agent = reading_agent(tmp_path / "lease.txt", store=str(tmp_path / "kept.db"))
        with nullcontext() if left else pytest.warns(UserWarning, match="there is no such file"):
            assert data(agent("How much is the rent?")).found
        (tmp_path / "lease.txt").unlink(missing_ok=True)


def test_places_are_ingested_as_a_list_or_one_by_langroids_name(tmp_path: Path):
    (tmp_path / "lease.txt").write_text(LEASE)
    (tmp_path / "nuts.txt").write_text(NUTS)
    agent = reading_agent(tmp_path / "zzz.txt")
    assert not agent.ingest_doc_paths([]).added
    assert len(agent.ingest_doc_paths(str(tmp_path / "lease.txt")).added) == 1
    report = agent.ingest_doc_paths([tmp_path / "lease.txt", tmp_path / "nuts.txt"])
    assert (len(report.added), len(report.unchanged)) == (1, 1)


def test_other_places_that_are_ingested_leave_the_paths_to_be_read(tmp_path: Path):
    (tmp_path / "lease.txt").write_text(LEASE)
    (tmp_path / "nuts.txt").write_text(NUTS)
    agent = reading_agent(tmp_path / "lease.txt")
    agent.ingest(tmp_path / "nuts.txt")
    assert data(agent("How much is the rent?")).found
    assert agent.drop(tmp_path) == 2
    assert agent.sources() == []


def test_a_filter_says_what_is_searched():
    agent = doc_agent(["Hazelnuts are brown."], filter={"source": "lease.txt"})
    assert agent("What colour are hazelnuts?").content == NO_ANSWER


def test_the_model_reads_no_more_than_it_is_allowed():
    many = [document(f"The number of tree {at} is {at * 7}. {'It is tall. ' * 40}", f"{at}.txt") for at in range(30)]
    model = ScriptedModel(["DO-NOT-KNOW"])
    agent = doc_agent([], *many, n_similar_chunks=20, n_relevant_chunks=20, max_context=1500)
    agent.llm = model
    agent("Which number has the tree?")
    assert len(model.requests[0].messages[-1]["content"]) < 2600


def test_a_store_that_is_given_is_used(tmp_path: Any):
    config = SQLiteStoreConfig(embedding=None, storage_path=str(tmp_path / "store.db"))
    first = DocChatAgent(DocChatAgentConfig(vecdb=config, llm=None))
    first.ingest_docs([document(LEASE, "lease.txt")])
    second = DocChatAgent(DocChatAgentConfig(vecdb=config, llm=ScriptedModel(["The rent is 950 EUR."])))
    assert data(second("How much is the rent?")).found


def test_a_page_is_part_of_the_citation():
    text = "Title.\n\fThe rent is 950 EUR.\n"
    agent = doc_agent(["The rent is 950 EUR."], document(text, "lease.pdf", pages=(0, 8)))
    (citation,) = data(agent("How much is the rent?")).citations
    assert (citation.page, citation.line) == (2, 1)


def test_words_before_and_behind_marks_stay_as_they_were_written():
    message = doc_agent(['"The rent is 950 EUR" (2024) [2].'], references=False)("How much is the rent in 2024?")
    assert message.content == '"The rent is 950 EUR" (2024) [1].'
