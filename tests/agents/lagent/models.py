"""Models that users write, in all forms, and the parameters that they are called with."""

# Users' programs have few types.
# pyright: basic

from __future__ import annotations

from typing import Any

from ._script import Run, script

TEMPLATE = [
    {"role": "system", "begin": "<s>", "end": "</s>\n"},
    {"role": "user", "begin": "<u>", "end": "</u>\n"},
    {"role": "assistant", "begin": "<a>", "end": "</a>\n"},
]
ASKED = [{"role": "system", "content": "be short"}, {"role": "user", "content": "hi"}]


def sync(on: Run) -> Any:
    return on.module("llms").BaseLLM


def awaiting(on: Run) -> Any:
    return on.module("llms").AsyncBaseLLM


@script
def a_model_that_generates(on: Run) -> Any:
    class Model(sync(on)):
        def generate(self, inputs: Any, **gen_params: Any) -> Any:
            on.say(repr(inputs), gen_params)
            return "fine"

    model = Model("m", meta_template=TEMPLATE)
    on.say(model.chat(ASKED), model.chat(ASKED, temperature=0.1, stop_words=["x"]))
    on.ask(on.agents.Agent(model, "be short"), "hi")
    on.ask(on.agents.Agent(model, "be short"), "hi", temperature=0.2)


@script
def a_model_that_generates_several(on: Run) -> Any:
    class Model(sync(on)):
        def generate(self, inputs: Any, **gen_params: Any) -> Any:
            return [each.upper() for each in inputs] if isinstance(inputs, list) else inputs.upper()

    model = Model("m", meta_template=TEMPLATE)
    on.say(model.chat([ASKED, ASKED[1:]]), model.chat(ASKED))


@script
def a_model_that_merges_its_parameters(on: Run) -> Any:
    class Model(sync(on)):
        def generate(self, inputs: Any, **gen_params: Any) -> Any:
            on.say(self.update_gen_params(**gen_params))
            return "fine"

    model = Model("m", top_k=1, temperature=1.0, stop_words=["<e>"], max_new_tokens=9)
    model.chat(ASKED)
    model.chat(ASKED, stop_words=None, top_p=0.1)
    model.gen_params["stop_words"].append("</c>")
    model.gen_params["temperature"] = 0
    on.ask(on.agents.Agent(model), "hi")
    on.say(model.gen_params)


@script
def the_parameters_of_a_model(on: Run) -> Any:
    class Model(sync(on)):
        pass

    on.say(Model("a/m").path, Model("m", stop_words="x").gen_params, Model("m", stop_words=["x", "y"]).gen_params)
    on.say(
        Model("m").gen_params["stop_words"] in (None, []),
        Model("m").tokenizer_only,
        Model("m").update_gen_params(top_k=1),
    )


@script
def the_parameters_of_an_api_model(on: Run) -> Any:
    class Model(on.module("llms").BaseAPILLM):
        def generate(self, inputs: Any, **gen_params: Any) -> Any:
            on.say(inputs, gen_params)
            return "fine"

    model = Model("m", retry=3, stop_words="x")
    on.say(model.model_type, model.retry, model.is_api, model.gen_params)
    on.say(model.chat(ASKED))
    roles = [{"role": each, "api_role": each} for each in ("system", "user", "assistant")]
    on.say(Model("m", meta_template=roles).chat([*ASKED, {"role": "user", "content": "you"}]))


@script
def a_model_that_chats(on: Run) -> Any:
    class Model(sync(on)):
        def chat(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
            on.say(inputs, session_ids, gen_params)
            return "fine"

    on.ask(on.agents.Agent(Model("m"), "be short"), "hi", session_id=3, top_k=1)


@script
def a_model_that_chats_and_generates(on: Run) -> Any:
    class Model(sync(on)):
        def chat(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
            on.say("chat", inputs)
            return super().chat(inputs, session_ids, top_k=3, **gen_params) + "!"

        def generate(self, inputs: Any, **gen_params: Any) -> Any:
            on.say("generate", repr(inputs), gen_params)
            return "fine"

    on.ask(on.agents.Agent(Model("m", meta_template=TEMPLATE), "be short"), "hi")


@script
def a_model_that_generates_and_streams(on: Run) -> Any:
    states = on.schema.ModelStatusCode

    class Model(sync(on)):
        def generate(self, inputs: Any, **gen_params: Any) -> Any:
            on.say("generate", repr(inputs), self.update_gen_params(**gen_params)["stop_words"])
            return "fine"

        def stream_chat(self, inputs: Any, **gen_params: Any) -> Any:
            on.say("stream_chat", inputs, gen_params)
            yield states.STREAM_ING, "st", None
            yield states.END, "streamed", None

    model = Model("m", meta_template=TEMPLATE, stop_words=["<e>"])
    on.say(model.chat(ASKED))
    on.ask(on.agents.Agent(model, "be short"), "hi")
    on.ask(on.agents.StreamingAgent(model, "be short"), "hi", session_id=5)


@script
def a_model_that_chats_and_streams(on: Run) -> Any:
    states = on.schema.ModelStatusCode

    class Model(sync(on)):
        def chat(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
            on.say("chat", inputs)
            return "chatted"

        def stream_chat(self, inputs: Any, session_id: Any = 0, **gen_params: Any) -> Any:
            on.say("stream_chat", inputs, session_id)
            yield states.END, "streamed", None

    model = Model("m")
    on.ask(on.agents.Agent(model), "hi", session_id=2)
    on.ask(on.agents.StreamingAgent(model), "hi", session_id=2)


@script
def an_awaited_model_that_generates(on: Run) -> Any:
    class Model(awaiting(on)):
        async def generate(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
            on.say(repr(inputs), session_ids, gen_params)
            return "fine"

    model = Model("m", meta_template=TEMPLATE)
    on.say(on.awaited(model.chat(ASKED, 7, top_k=1)))
    on.ask(on.agents.AsyncAgent(model, "be short"), "hi", session_id=4, top_k=2)


@script
def an_awaited_model_that_chats(on: Run) -> Any:
    class Model(awaiting(on)):
        async def chat(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
            on.say(inputs, session_ids, gen_params)
            return "fine"

    on.ask(on.agents.AsyncAgent(Model("m"), "be short"), "hi", session_id=4, top_k=2)


@script
def an_awaited_model_that_generates_and_streams(on: Run) -> Any:
    states = on.schema.ModelStatusCode

    class Model(awaiting(on)):
        async def generate(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
            on.say("generate", repr(inputs), session_ids)
            return "fine"

        async def stream_chat(self, inputs: Any, session_id: Any = 0, **gen_params: Any) -> Any:
            on.say("stream_chat", inputs, session_id)
            yield states.STREAM_ING, "st", None
            yield states.END, "streamed", None

    model = Model("m", meta_template=TEMPLATE)
    on.ask(on.agents.AsyncAgent(model), "hi", session_id=4)
    on.ask(on.agents.AsyncStreamingAgent(model), "hi", session_id=4)


@script
def a_model_that_is_no_subclass(on: Run) -> Any:
    class Model:
        def chat(self, inputs: Any, **gen_params: Any) -> Any:
            on.say(inputs, gen_params)
            return "fine"

    on.ask(on.agents.Agent(Model(), "be short"), "hi", top_k=1)


@script
def a_model_that_writes_nothing(on: Run) -> Any:
    class Model(sync(on)):
        pass

    on.tried(lambda: Model("m").chat(ASKED), NotImplementedError)
    on.tried(lambda: Model("m").generate("x"), NotImplementedError)
    on.tried(lambda: on.agents.Agent(Model("m"))("hi"), NotImplementedError)


@script
def a_model_that_fails(on: Run) -> Any:
    class Model(sync(on)):
        def generate(self, inputs: Any, **gen_params: Any) -> Any:
            raise ConnectionResetError("gone")

    agent = on.agents.Agent(Model("m"), name="ada")
    on.tried(lambda: agent("hi"), ConnectionResetError)
    on.remembered(agent)


@script
def a_model_that_returns_no_text(on: Run) -> Any:
    class Model(sync(on)):
        def generate(self, inputs: Any, **gen_params: Any) -> Any:
            return answers.pop(0)

    answers = [None, 3, ["a"]]
    agent = on.agents.Agent(Model("m"), name="ada")
    for _ in range(3):
        on.tried(lambda: on.ask(agent, "hi"))


@script
def a_model_with_a_template_parser_of_its_own(on: Run) -> Any:
    class Parser:
        def __init__(self, meta_template: Any = None) -> None:
            self.meta_template = meta_template

        def __call__(self, dialog: Any) -> str:
            return "|".join(each["content"] for each in dialog)

    class Model(sync(on)):
        def generate(self, inputs: Any, **gen_params: Any) -> Any:
            return inputs.upper()

    on.ask(on.agents.Agent(Model("m", template_parser=Parser), "be short"), "hi")


@script
def the_template_of_internlm(on: Run) -> Any:
    class Model(sync(on)):
        def generate(self, inputs: Any, **gen_params: Any) -> Any:
            on.say(repr(inputs))
            return "fine"

    model = Model("m", meta_template=on.module("llms").INTERNLM2_META)
    model.chat(ASKED)
    model.chat([*ASKED, {"role": "environment", "content": "2", "name": "interpreter"}])
    model.chat(
        [{"role": "system", "content": "s", "name": "plugin"}, *ASKED[1:], {"role": "assistant", "content": "a"}]
    )
    model.chat([{"role": "system", "content": "s", "name": "other"}, *ASKED[1:]])


@script
def a_role_that_the_template_does_not_know(on: Run) -> Any:
    class Model(sync(on)):
        def generate(self, inputs: Any, **gen_params: Any) -> Any:
            return "fine"

    on.tried(lambda: on.say(Model("m", meta_template=TEMPLATE).chat([{"role": "no", "content": "x"}])), KeyError)


@script
def a_prompt_without_a_template(on: Run) -> Any:
    class Model(sync(on)):
        def generate(self, inputs: Any, **gen_params: Any) -> Any:
            on.say(repr(inputs))
            return "fine"

    Model("m").chat([*ASKED, {"role": "assistant", "content": ""}, {"role": "user", "content": "you?"}])


@script
def a_function_that_cuts_at_stop_words(on: Run) -> Any:
    cut = on.module("utils").filter_suffix
    on.say(cut("a<e>b", ["<e>"]), cut(["a<e>b", "c"], ["<e>", "b"]), cut("a"), cut("a", None), cut("<e>", ["<e>"]))


@script
def a_model_by_another_name_of_the_parameters(on: Run) -> Any:
    class Model(sync(on)):
        def generate(self, prompts: Any, **options: Any) -> Any:
            on.say(repr(prompts), options)
            return "fine"

    on.ask(on.agents.Agent(Model("m", meta_template=TEMPLATE)), "hi", top_k=4)


@script
def a_model_with_an_init_of_its_own(on: Run) -> Any:
    class Model(sync(on)):
        def __init__(self, word: str) -> None:
            super().__init__(path="mine", top_k=2)
            self.word = word

        def generate(self, inputs: Any, **gen_params: Any) -> Any:
            return self.word

    model = Model("hello")
    on.ask(on.agents.Agent(model), "hi")
    on.say(model.path, model.gen_params["top_k"])


@script
def a_model_without_super_init(on: Run) -> Any:
    class Model(sync(on)):
        def __init__(self) -> None:
            self.said = 0

        def chat(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
            self.said += 1
            return f"fine {self.said}"

    agent = on.agents.Agent(Model())
    on.ask(agent, "hi")
    on.ask(agent, "hi")


@script
def what_the_models_are(on: Run) -> Any:
    llms = on.module("llms")
    for name, bases in {
        "BaseAPILLM": "BaseLLM",
        "GPTAPI": "BaseAPILLM BaseLLM",
        "ClaudeAPI": "BaseAPILLM",
        "SensenovaAPI": "BaseAPILLM",
        "AsyncBaseAPILLM": "BaseAPILLM BaseLLM",
        "AsyncGPTAPI": "AsyncBaseAPILLM BaseAPILLM BaseLLM",
        "AsyncClaudeAPI": "AsyncBaseAPILLM",
        "AsyncBaseLLM": "BaseLLM",
        "AsyncVllmModel": "AsyncBaseLLM",
        "LMDeployClient": "LMDeployServer BaseLLM",
    }.items():
        on.say(name, [issubclass(getattr(llms, name), getattr(llms, base)) for base in bases.split()])
