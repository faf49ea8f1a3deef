"""Each example is a whole program that does its job, with a server of ours in place of the embedded model."""

from __future__ import annotations

import csv
import json
import re
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from _signals import press_ctrl_c

from ._examples import Run, started
from ._runner import ROOT
from ._server import Answer, Question, ScriptedServer
from ._stand_in import answer as lease_of

EMPTY = "there is no text in it; check that it is the right one"
Serve = Callable[[Callable[[Question], Answer]], ScriptedServer]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a server that answers."""
    started: list[ScriptedServer] = []

    def serve(answer: Callable[[Question], Answer]) -> ScriptedServer:
        started.append(ScriptedServer(answer))
        return started[-1].__enter__()

    yield serve
    for server in started:
        server.__exit__()


def at(server: ScriptedServer) -> list[str]:
    return ["--model", "openai:stand-in", "--base-url", server.url]


def in_turn(*answers: Answer) -> Callable[[Question], Answer]:
    left = iter(answers)
    return lambda question: next(left)


def last_of(question: Question) -> str:
    return str(question["messages"][-1]["content"])


def system_of(question: Question) -> str:
    return str(question["messages"][0]["content"])


def test_extract_leases(run: Run, serve: Serve, folder: Path):
    (folder / "letters/empty.txt").touch()
    shown = run("extract_leases.py", "letters", *at(serve(lease_of)))
    assert shown.splitlines() == [
        'ada.txt: look at rent: "per month" is not one amount of money',
        f"letters/empty.txt: {EMPTY}",
        "2 leases in leases.csv",
    ]
    assert list(csv.reader((folder / "leases.csv").read_text(encoding="utf-8").splitlines())) == [
        ["document", "tenant", "rent", "currency", "starts"],
        ["letters/ada.txt", "Ada Byron", "", "", "2024-03-01"],
        ["letters/bob.txt", "Robert Brown", "750", "EUR", "2023-04-15"],
    ]


def test_rent_ledger(run: Run, serve: Serve):
    server = serve(in_turn(("balance", {"tenant": "Bobby"}), ("balance", {"tenant": "Bob"})))
    assert run("rent_ledger.py", "What about Bobby?", *at(server)).splitlines() == [
        '  balance {"tenant": "Bobby"}',
        '  balance {"tenant": "Bob"}',
        "Bob has paid 1500 of 1500 euros and owes 0.",
    ]
    assert last_of(server.asked[1]) == "There is no tenant called Bobby. There are Ada, Bob."


def test_rent_ledger_without_an_answer(run: Run, serve: Serve):
    server = serve(lambda question: "I would rather talk about the weather.")
    assert "found no tool" in run("rent_ledger.py", "What about Bob?", *at(server), fails=True)


@pytest.mark.model
def test_rent_ledger_with_the_small_model(run_here: Run):
    shown = run_here("rent_ledger.py", "Does Ada owe us anything?", "--model", "small")
    assert "Ada has paid 2450 of 2700 euros and owes 250." in shown


def test_checked_summary(run: Run, serve: Serve):
    server = serve(in_turn("The rent is 800 euros.", "The rent is EUR 750.00."))
    assert run("checked_summary.py", "letters/bob.txt", *at(server)) == "The rent is EUR 750.00.\n"
    assert last_of(server.asked[1]) == "These numbers do not stand in the document: 800. Write the summary again."


def test_checked_summary_of_a_stubborn_model(run: Run, serve: Serve):
    server = serve(lambda question: f"The rent is 80{len(question['messages'])} euros.")
    assert "could not do without" in run("checked_summary.py", "letters/bob.txt", *at(server), fails=True)
    assert len(server.asked) == 3


def test_chat(run: Run, serve: Serve, folder: Path):
    server = serve(lambda question: f"You said: {last_of(question)}")
    options = ["--file", "chat.json", *at(server)]
    assert run("chat.py", *options, typed="I am Ada.\nHello?\n\n") == "> You said: I am Ada.\n> You said: Hello?\n> "
    assert run("chat.py", *options, typed="Me again.\n") == "> You said: Me again.\n> "
    assert [message["content"] for message in server.asked[-1]["messages"] if message["role"] == "user"] == [
        "I am Ada.",
        "Hello?",
        "Me again.",
    ]
    assert len(json.loads((folder / "chat.json").read_text(encoding="utf-8"))["memory"]) == 6


def test_chat_with_tools(run: Run, serve: Serve):
    look = ("find_book", {"to_user": "I look for it.", "title": "Emma"})
    server = serve(in_turn(look, "It is lent.", "You are welcome."))
    assert run("chat_with_tools.py", *at(server), typed="Is Emma there?\n\nThanks!\nexit\n").splitlines() == [
        "",
        "> I look for it.",
        '  find_book {"title": "Emma"}: Emma is lent until Friday.',
        "It is lent.",
        "",
        "> ",
        "> You are welcome.",
        "",
        "> Bye.",
    ]
    roles = [[message["role"] for message in question["messages"]] for question in server.asked]
    assert roles[1] == ["system", "user", "assistant", "tool"]
    assert roles[2] == [*roles[1], "assistant", "user"]
    assert server.asked[1]["messages"][2]["content"] == "I look for it."


def test_chat_with_tools_of_a_model_that_never_answers(run: Run, serve: Serve):
    server = serve(lambda question: ("opening_hours", {"to_user": "Well.", "day": "never"}))
    shown = run("chat_with_tools.py", *at(server), typed="When do you open?\n")
    assert shown.count("opening_hours") == 4
    assert [question["tool_choice"] for question in server.asked] == ["auto", "auto", "auto", "none"]
    assert shown.endswith("> \nBye.\n")


def test_chat_with_tools_goes_on_after_an_error(run: Run):
    shown = run("chat_with_tools.py", "--model", "no.gguf", typed="Is Emma there?\nexit\n")
    assert "That went wrong: there is no model file" in shown
    assert shown.endswith("> Bye.\n")


@pytest.mark.model
def test_chat_with_tools_with_the_small_model(run_here: Run):
    shown = run_here("chat_with_tools.py", "--model", "small", typed="When do you open on Saturday?\nexit\n")
    assert "Saturday: 10 to 13." in shown


def test_digest(run: Run, serve: Serve, folder: Path):
    (folder / "letters/empty.txt").touch()
    server = serve(lambda question: "A lease." if "Robert" in last_of(question) else "A\nletter.")
    shown = re.sub(r"\d+\.\d\d s", "… s", run("digest.py", "letters", *at(server)))
    lines = shown.splitlines()
    assert "ReadDocument#2 failed: EmptyDocumentError" in lines[0]  # from the log
    assert lines[1:3] == ["ada.txt: A letter.", "bob.txt: A lease."]
    assert sorted(line for line in lines if line.startswith("    ReadDocument")) == [
        "    ReadDocument  … s",
        "    ReadDocument  … s",
        f"    ReadDocument  … s  EmptyDocumentError: letters/empty.txt: {EMPTY}",
    ]
    assert lines[-1] == "1 failed"


def test_math_coder(run: Run, serve: Serve):
    server = serve(in_turn("I multiply.\n```python\nprint(6 * 7)\n```", "It is 42."))
    shown = run("math_coder.py", "What is six times seven?", *at(server))
    assert shown == "I multiply.\n```python\nprint(6 * 7)\n```\n\n> 42\n\nIt is 42.\n"
    assert server.asked[0]["stop"] == ["\n```\n"]
    assert last_of(server.asked[0]) == "What is six times seven?"
    assert last_of(server.asked[1]) == "It printed: 42"


def test_math_coder_shows_what_went_wrong_and_gives_up(run: Run, serve: Serve):
    server = serve(lambda question: "I try.\n```python\n1 / 0\n```")
    shown = run("math_coder.py", *at(server), fails=True)
    assert shown.count("ZeroDivisionError: division by zero") == len(server.asked) == 4
    assert "came to no answer" in shown


@pytest.mark.parametrize("name", ["math_coder.py", "data_visualizer.py"])
def test_code_of_a_model_does_not_run_without_a_sandbox(
    run: Run, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    monkeypatch.setenv("PATH", str(tmp_path))
    server = serve(lambda question: "Hello.")
    assert run(name, *at(server), fails=True).startswith("the sandbox needs bubblewrap")
    assert server.asked == []


@pytest.mark.model
@pytest.mark.slow
def test_math_coder_with_the_small_model(run_here: Run):
    shown = run_here("math_coder.py", "--model", "small")
    assert "str(2 ** 1000)" in shown
    assert "\n> 1366\n" in shown


def blog(question: Question) -> Answer:
    """An answer by the topic that the writer was asked for, and by who is asked."""
    topic = re.findall("about ([a-z]+)", str(question["messages"]))[-1]
    if "editor" in system_of(question):
        return f"Say less about {topic}."
    return f"Less about {topic}." if "advice" in last_of(question) else f"All about {topic}."


def test_blogger(run: Run, serve: Serve):
    server = serve(blog)
    assert run("blogger.py", "tea", *at(server)).strip().split("\n\n") == [
        "[writer] All about tea.",
        "[critic] Say less about tea.",
        "[writer] Less about tea.",
        "-- what the critic remembers\nwriter: The post:",
        "All about tea.",
        "critic: Say less about tea.",
    ]
    assert last_of(server.asked[1]) == "The post:\n\nAll about tea."
    assert last_of(server.asked[2]).endswith("Follow this advice:\n\nSay less about tea.")


def test_async_blogger(run: Run, serve: Serve):
    topics = ["tea", "bees", "trains", "maps", "soup"]
    all_are_there = threading.Barrier(len(topics))

    def answer(question: Question) -> Answer:
        if len(question["messages"]) == 2 and "editor" not in system_of(question):
            all_are_there.wait(30)  # no topic gets its first text before each has asked for it
        return blog(question)

    server = serve(answer)
    shown = run("async_blogger.py", *topics, *at(server))
    posts, memory = shown.split("-- what the critic remembers of ")
    assert sorted(posts.split("-- ")[1:]) == sorted(f"{topic}\nLess about {topic}.\n\n" for topic in topics)
    assert memory == "tea\nwriter: The post:\n\nAll about tea.\n\ncritic: Say less about tea.\n\n"
    assert len(server.asked) == 15


def called(name: str, **parameters: object) -> str:
    return f"I look.\n```json\n{json.dumps({'name': name, 'parameters': parameters})}\n```"


def test_data_visualizer(run: Run, serve: Serve, folder: Path):
    code = "import matplotlib.pyplot as plt\nplt.plot([2022, 2023], [13.6, 17.2])\nplt.show()"
    server = serve(
        in_turn(
            called("WebBrowser.search", query="museum"),
            "2022: 13.6, 2023: 99.9",
            called("WebBrowser.select", select_ids=[0]),
            "2022: 13.6, 2023: 17.2",
            f"I draw.\n```python\n{code}\n```",
            "Final answer: more and more.",
        )
    )
    shown = run("data_visualizer.py", "Draw it.", "--out", "charts", *at(server))
    assert "[charter] Final answer: more and more." in shown
    assert shown.endswith("charts/visualizer.json: what was said\ncharts/chart.png: the chart\n")
    assert (folder / "charts/chart.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    state = json.loads((folder / "charts/visualizer.json").read_text(encoding="utf-8"))
    assert state["charter.memory"][-2]["content"] == "[image](charts/chart.png)"
    assert "Harbour museum" in last_of(server.asked[1])
    assert last_of(server.asked[2]).startswith("You have not read 2022, 13.6, 2023, 99.9 anywhere.")
    assert "2021: 8.8" in last_of(server.asked[3])
    assert [message["content"] for message in server.asked[4]["messages"][-2:]] == [
        "Draw it.",
        "2022: 13.6, 2023: 17.2",
    ]
    assert last_of(server.asked[5]) == "[image](charts/chart.png)"


def test_data_visualizer_of_a_model_that_draws_nothing(run: Run, serve: Serve, folder: Path):
    server = serve(lambda question: called("WebBrowser.search"))
    shown = run("data_visualizer.py", *at(server), fails=True)
    assert shown.endswith("The model drew no chart. Try another model.\n")
    assert len(server.asked) == 10
    assert not (folder / "chart.png").exists()
    assert json.loads((folder / "visualizer.json").read_text(encoding="utf-8"))["researcher.memory"]


def test_lease_dialogue(run: Run, serve: Serve):
    def answer(question: Question) -> Answer:
        if "this lease" in system_of(question):
            return "Ask the landlord."
        if question["tool_choice"]["function"]["name"] == "lease":
            return ("lease", {"tenant": "Ada", "monthly_rent": 9, "deposit": "8"})
        topics = question["tools"][0]["function"]["parameters"]["properties"]["topic"]["enum"]
        return ("question", {"topic": topics[-1], "question": f"What of {topics}?"})

    server = serve(answer)
    assert run("lease_dialogue.py", *at(server)).splitlines() == [
        "? What of ['tenant', 'monthly rent', 'deposit']?",
        "? What of ['tenant', 'monthly rent']?",
        "? What of ['tenant']?",
        str({"tenant": "Ada", "monthly_rent": 9, "deposit": 8}),
    ]
    assert last_of(server.asked[-1]) == "Ask the landlord."


@pytest.mark.model
@pytest.mark.slow
def test_lease_dialogue_with_the_small_model(run_here: Run):
    *questions, lease = run_here("lease_dialogue.py", "--model", "small").splitlines()
    assert len(questions) == 3
    assert lease == str({"tenant": "Robert Brown", "monthly_rent": 750, "deposit": 1500})


def test_front_desk(run: Run, serve: Serve):
    def answer(question: Question) -> Answer:
        found = re.search("You are the (plumber|cashier)", system_of(question))
        if found is not None:
            return f"{found[1]} here: {last_of(question)}"
        who = "cashier" if "rent" in last_of(question) else "plumber"
        if "tools" in question:
            return ("recipient_message", {"intended_recipient": who, "content": "Please help."})
        return json.dumps({"value": who})

    shown = run("front_desk.py", "A drip.", "The rent.", *at(serve(answer)))
    assert shown.splitlines() == [
        "A drip.",
        "  plumber: plumber here: A drip.",
        "  plumber: plumber here: Please help.",
        "The rent.",
        "  cashier: cashier here: The rent.",
        "  cashier: cashier here: Please help.",
    ]


@pytest.mark.model
@pytest.mark.slow
def test_front_desk_with_the_small_model(run_here: Run):
    shown = run_here("front_desk.py", "--model", "small")
    assert re.findall(r"^  (\w+): \S", shown, re.MULTILINE) == ["plumber", "plumber", "cashier", "cashier"]


def test_fail_over(run: Run, serve: Serve):
    knows = "DO-NOT-KNOW", "The deposit is 1500 euros."
    server = serve(in_turn(*(json.dumps({"value": line}) for line in knows)))
    assert run("fail_over.py", "What is the deposit?", *at(server)).splitlines() == [
        "What is the deposit?",
        "  handbook: DO-NOT-KNOW",
        "  lease: The deposit is 1500 euros.",
    ]
    assert [last_of(question) for question in server.asked] == ["What is the deposit?"] * 2


@pytest.mark.model
@pytest.mark.slow
def test_fail_over_with_the_small_model(run_here: Run):
    shown = run_here("fail_over.py", "--model", "small")
    assert re.findall(r"^  (\w+): (DO-NOT-KNOW)?", shown, re.MULTILINE) == [
        ("handbook", ""),
        ("handbook", "DO-NOT-KNOW"),
        ("lease", ""),
        ("handbook", "DO-NOT-KNOW"),
        ("lease", "DO-NOT-KNOW"),
        ("caretaker", ""),
    ]


def test_typed_result(run: Run, serve: Serve):
    purchase = {"buyer": "Bob", "what": "bread", "how_many": 2, "price_of_one": 3}
    server = serve(in_turn("Bob bought two.", json.dumps(purchase), "Bob.", '{"value": ["Bob"]}'))
    assert run("typed_result.py", "Bob bought bread.", *at(server)).splitlines() == [
        "buyer='Bob' what='bread' how_many=2 price_of_one=3",
        "Bob owes 6 euros.",
        "['Bob']",
    ]
    assert "Bob bought two." in last_of(server.asked[1])


@pytest.mark.model
@pytest.mark.slow
def test_typed_result_with_the_small_model(run_here: Run):
    assert run_here("typed_result.py", "--model", "small").splitlines() == [
        "buyer='Ada Byron' what='pizza' how_many=3 price_of_one=12",
        "Ada Byron owes 36 euros.",
        "['Ada Byron']",
    ]


def test_sort_letters(run: Run, serve: Serve):
    came, fifth, is_early = count(1), threading.Event(), list[bool]()
    four_are_there = threading.Barrier(4, lambda: is_early.append(fifth.wait(0.5)))

    def answer(question: Question) -> Answer:
        number = next(came)
        if number <= 4:
            four_are_there.wait(30)  # no letter is answered before four are read at once, and no fifth comes meanwhile
        elif number == 5:
            fifth.set()
        return "Yes." if "wonderful" in last_of(question) else "Perhaps." if "perfect" in last_of(question) else "no"

    server = serve(answer)
    shown = run("sort_letters.py", *at(server))
    assert re.findall(r"\d+ of 200\b", shown) == [*(f"{done} of 200" for done in range(1, 201)), "120 of 200"]
    assert shown.splitlines()[-1] == f"{ {'yes': 20, 'no': 160, 'unclear': 20} }, 120 of 200 right"
    assert len({last_of(question) for question in server.asked}) == len(server.asked) == 200
    assert {len(question["messages"]) for question in server.asked} == {2}  # no letter is read with another
    assert is_early == [False]


@pytest.mark.model
@pytest.mark.slow
def test_sort_letters_with_the_small_model(run_here: Run):
    shown = run_here("sort_letters.py", "--letters", 12, "--model", "small")
    assert "\n12 of 12\n" in shown
    (right,) = re.findall(r"(\d+) of 12 right", shown)
    assert int(right) > 8
    assert "unclear" not in shown


AGENTS = [["math_coder.py"], ["blogger.py", "tea"], ["async_blogger.py"], ["data_visualizer.py"]]


@pytest.mark.parametrize("program", AGENTS, ids=lambda program: program[0])
def test_a_model_that_is_not_there_is_reported(run: Run, program: list[str]):
    shown = run(*program, "--model", "no.gguf", fails=True)
    assert "there is no model file" in shown.splitlines()[-1]
    assert "Traceback" not in shown


@pytest.mark.parametrize("program", AGENTS, ids=lambda program: program[0])
def test_control_c_ends_it(serve: Serve, tmp_path: Path, program: list[str]):
    is_asked, may_answer = threading.Event(), threading.Event()

    def answer(question: Question) -> Answer:
        is_asked.set()
        may_answer.wait(30)
        return "Too late."

    process = started(tmp_path, ROOT / "examples" / program[0], *program[1:], *at(serve(answer)))
    assert is_asked.wait(30)
    press_ctrl_c(process)
    shown, _ = process.communicate(timeout=30)
    may_answer.set()
    assert process.returncode == 1
    assert shown.endswith("\nStopped.\n")
    assert "Traceback" not in shown
