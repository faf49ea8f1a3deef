"""A writer and a critic, with Lagent."""

from lagent.agents import Agent
from lagent.hooks import Hook
from lagent.llms import GPTAPI
from lagent.schema import AgentMessage


class Prefix(Hook):
    def __init__(self, prefix, sender):
        self.prefix, self.sender = prefix, sender

    def before_agent(self, agent, messages, session_id):
        for message in messages:
            if message.sender == self.sender:
                message.content = self.prefix + message.content


class Blogger(Agent):
    def __init__(self, model, rounds=2):
        super().__init__()
        self.writer = Agent(model, "You write posts.", name="writer", hooks=[Prefix("Advice: ", "critic")])
        self.critic = Agent(model, "You give advice.", name="critic", hooks=[Prefix("Post: ", "writer")])
        self.rounds = rounds

    def forward(self, message, session_id=0):
        for _ in range(self.rounds):
            message = self.writer(message, session_id=session_id)
            message = self.critic(message, session_id=session_id)
        return self.writer(message, session_id=session_id)


blogger = Blogger(GPTAPI(model_type="gpt-4o", key="ENV"))
answer = blogger(AgentMessage(sender="user", content="Write about tea."), session_id="tea")
print(answer.content)
print([message["content"] for message in blogger.state_dict("tea")["critic.memory"]])
