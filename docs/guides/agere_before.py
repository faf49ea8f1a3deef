"""Two readers of one text at once, and a result when both are done, with Agere."""

from agere.commander import PASS_WORD, CommanderAsync, Job, handler, tasker


class Read(Job):
    def __init__(self, text):
        super().__init__()
        self.text, self.found = text, {}

    @tasker(PASS_WORD)
    async def task(self):
        self.add_callback_functions(
            which="at_job_end",
            functions_info={"function": self.tell, "inject_task_node": True},
        )
        return self.read()

    @handler(PASS_WORD)
    async def read(self, self_handler):
        self_handler.call_handler(self.count("words", self.text.split()))
        self_handler.call_handler(self.count("letters", self.text.replace(" ", "")))

    @handler(PASS_WORD)
    async def count(self, self_handler, name, parts):
        self.found[name] = len(parts)

    async def tell(self, task_node):
        await self.exit_commander(return_result=sorted(self.found.items()))


print(CommanderAsync().run(Read("tea is a drink")))
