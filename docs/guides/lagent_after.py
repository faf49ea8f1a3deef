"""The writer and the critic in trivium's own style."""

from trivium import Agent, Hook, Limits, Message
from trivium.llms import OpenAIModel


class Prefix(Hook):
    def __init__(self, prefix: str, sender: str) -> None:
        self.prefix, self.sender = prefix, sender

    def before_agent(self, agent, messages, session_id) -> None:
        for message in messages:
            if message.sender == self.sender:
                message.content = self.prefix + message.content


class Blogger(Agent):
    def __init__(self, model: OpenAIModel, rounds: int = 2) -> None:
        super().__init__()
        self.writer = Agent(model, "You write posts.", name="writer", hooks=Prefix("Advice: ", "critic"))
        self.critic = Agent(model, "You give advice.", name="critic", hooks=Prefix("Post: ", "writer"))
        self.rounds = rounds

    async def forward(self, message: Message) -> Message:  # for blogger(…) and for await blogger.acall(…)
        for _ in range(self.rounds):
            message = await self.critic.acall(await self.writer.acall(message))
        return await self.writer.acall(message)


blogger = Blogger(OpenAIModel("gpt-4o"))
answer = blogger("Write about tea.", session_id="tea", limits=Limits(turns=5), timeout=60)
print(answer.content)
print([message["content"] for message in blogger.state_dict("tea")["critic.memory"]])
