"""A shop's agent with LangGraph: a graph of a model and its tools, a checkpointer, two turns of a thread."""

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


@tool
def find_order(order: str) -> str:
    """Look up an order by its number."""
    return f"{order}: a kettle, lost on the way"


model = ChatOpenAI(model="gpt-4o").bind_tools([find_order])


def call_model(state: MessagesState) -> dict:
    instruction = {"role": "system", "content": "Help the customers of a shop."}
    return {"messages": [model.invoke([instruction, *state["messages"]])]}


builder = StateGraph(MessagesState)
builder.add_node("model", call_model)
builder.add_node("tools", ToolNode([find_order]))
builder.add_edge(START, "model")
builder.add_conditional_edges("model", tools_condition)
builder.add_edge("tools", "model")
graph = builder.compile(checkpointer=InMemorySaver())

config = {"configurable": {"thread_id": "ada"}, "recursion_limit": 16}
for text in ("Where is A17?", "Thank you."):
    state = graph.invoke({"messages": [{"role": "user", "content": text}]}, config)
    print(state["messages"][-1].content)
print(len(graph.get_state(config).values["messages"]))
