"""The two readers in trivium's own style: a call that waits for what it has begun."""

from trivium import Message, Module
from trivium.commander import driver_neutral, gather


class Count(Module):
    def forward(self, message: Message) -> int:
        return len(message.content)


class Read(Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.letters = Count(), Count()

    @driver_neutral  # runs for sync and async callers, without a loop of its own
    async def forward(self, message: Message) -> list[tuple[str, int]]:
        text = message.content
        words, letters = await gather(
            lambda: self.words.acall(Message(content=text.split())),
            lambda: self.letters.acall(text.replace(" ", "")),
        )
        return [("letters", letters.content), ("words", words.content)]


print(Read()("tea is a drink").content)
