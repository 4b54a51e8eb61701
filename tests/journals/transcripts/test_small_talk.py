"""What a person says to be polite, or so that it goes on, and what of a text is the task."""

from __future__ import annotations

from tests.cases import cases

from commonplace.journals.transcripts.small_talk import says_nothing, task_of


@cases(
    "text", ["hi", "Hello there!", "hey Claude", "Guten Morgen", "ok, thanks", "go on", "", "你好"]
)
def test_small_talk(text):
    """Is no task."""
    assert says_nothing(text)


@cases("text", ["high load", "hello world", "thanks to the cache it is slow", "yes, and the log?"])
def test_what_only_begins_like_it(text):
    """Is one."""
    assert not says_nothing(text)


@cases(
    ("text", "task"),
    [
        ("Hi! Why does the build fail?", "Why does the build fail?"),
        ("hello claude,\n\nrename the form", "rename the form"),
        ("hey can you fix the gate", "can you fix the gate"),
        ("Good morning - hi: the harbour log is empty", "the harbour log is empty"),
        ("Hello world in Rust, please", "Hello world in Rust, please"),
        ("Hi", "Hi"),
        ("  Fix it", "Fix it"),
        ("History of the parser", "History of the parser"),
    ],
)
def test_a_greeting_is_no_part_of_the_task(text, task):
    """It is left out where something follows it."""
    assert task_of(text) == task
