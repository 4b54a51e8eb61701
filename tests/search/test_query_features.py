"""What the words of a question say beyond what they name."""

from tests.cases import cases

from commonplace.search.query_features import read_features, read_intent, read_todos

ALL = [
    "What is left to do",
    "what is left to do?",
    "what's left to do today",
    "what is on my list",
    "What\u2019s on my list for tomorrow?",
    "what do I still have to do",
    "what do I need to do next",
    "what else do we have to get done this week",
    "what still needs doing",
    "is there anything left to do?",
    "show me my to-dos",
    "list all open tasks",
    "my to do list, please",
    "what haven't I done yet",
    "what haven\u2019t I done yet",
    "which tasks are not done",
    "what remains to be done",
    "what are my chores",
]


@cases("question", ALL)
def test_a_question_for_todos_as_such_holds_no_other_word(question):
    """It asks for all that are open, and is a plan."""
    assert read_todos(question) == ""
    assert read_intent(question) == "planning"


@cases(
    ("question", "rest"),
    [
        ("what is left to do for the garden", "garden"),
        ("what do I still have to do about the lab cables?", "lab cables"),
        ("open tasks on the api", "api"),
        ("what is on Melanie's to-do list", "melanie"),
    ],
)
def test_what_a_question_wants_of_the_todos(question, rest):
    """The words that are left over."""
    assert read_todos(question) == rest


@cases(
    "question",
    [
        "which tasks are done",
        "what have I finished of my to-dos",
        "what did I do yesterday",
        "where does my sister live",
        "what was the plan for the harbour",
        "the left wing of the house",
        "what should the parser do",
    ],
)
def test_what_asks_for_no_open_todo(question):
    """What is done, and what names none."""
    assert read_todos(question) is None


@cases(
    ("question", "asks"),
    [
        ("what did I say about the pump?", True),
        ("when we talked about Redis, what came out", True),
        ("Have you suggested another name?", True),
        ("what came up in our last session", True),
        ("why did we leave Postgres", False),
        ("where does the session token live", False),
        ("what does the test say", False),
    ],
)
def test_what_asks_for_what_was_said(question, asks):
    """By who said it, or by the conversation; what is called a session is none."""
    assert read_features(question).asks_said is asks
