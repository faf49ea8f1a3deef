"""Files that go with a message reach the model."""

from __future__ import annotations

from trivium import ChatAgent, ChatDocMetaData, ChatDocument, Entity, FileAttachment, Task
from trivium.testing import ScriptedModel


def test_a_file_goes_to_the_model_with_the_text_that_it_came_with() -> None:
    model = ScriptedModel(["a cat", "DONE"])
    picture = FileAttachment.from_bytes(b"\x89PNG\r\n", filename="cat.png", mime_type="image/png")
    agent = ChatAgent(model)
    asked = ChatDocument(content="What is it?", files=[picture], metadata=ChatDocMetaData(sender=Entity.USER))
    assert agent.llm_response(asked) is not None
    text, image = model.requests[0].messages[-1]["content"]
    assert text == {"type": "text", "text": "What is it?"}
    assert image["type"] == "image_url"
    assert image["image_url"]["url"].startswith("data:image/png;base64,")
    agent.llm_response("And now?")
    assert [each["role"] for each in model.requests[1].messages] == ["system", "user", "assistant", "user"]


def test_a_task_hands_files_on() -> None:
    model = ScriptedModel(["DONE a lease"])
    lease = FileAttachment.from_bytes(b"%PDF-1.4", filename="lease.pdf", mime_type="application/pdf")
    task = Task(ChatAgent(model), interactive=False)
    result = task.run(ChatDocument(content="", files=[lease], metadata=ChatDocMetaData(sender=Entity.USER)))
    assert result is not None
    assert result.content == "a lease"
    assert len(model.requests[0].messages[-1]["content"]) == 2
