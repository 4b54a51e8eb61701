"""The words of the word index, asked for by many threads."""

from __future__ import annotations

import subprocess
import sys

from tests.cases import cases

from commonplace.index.scoring.stems import tokens

FIRST_CALLS = """
import sqlite3, sys, threading
from commonplace.index.scoring.stems import tokens

opened = []
sys.addaudithook(lambda event, args: opened.append(args) if event == "sqlite3.connect" else None)
gate, found = threading.Barrier(8), []

def ask():
    gate.wait()
    found.extend(tokens(["the ships of Harbours"]))

threads = [threading.Thread(target=ask) for _ in range(8)]
for each in threads:
    each.start()
for each in threads:
    each.join()
print(len(opened), set(map(tuple, found)))
"""

WRITING_NOTHING = """
import resource
from commonplace.index.scoring.stems import tokens

resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
print(len(tokens([" ".join(f"w{number}" for number in range(100_000))])[0]))
"""


def test_the_first_calls_of_eight_threads_open_one_table():
    """The filing thread and a search begin together in a process that just started."""
    made = subprocess.run(
        [sys.executable, "-c", FIRST_CALLS], capture_output=True, text=True, check=True
    )
    assert made.stdout == "1 {('the', 'ship', 'of', 'harbour')}\n"


@cases(
    ("text", "found"),
    [
        ("Children's teeth", ["child", "s", "tooth"]),
        ("met,bought;thought.\tran\x1cwon", ["meet", "bui", "think", "run", "win"]),
        ("was_felt, felt_", ["wa", "felt", "felt"]),
        ("1st\x00went", ["1st", "go"]),
        ("Grün was, café felt", ["grun", "be", "cafe", "feel"]),
        ("", []),
    ],
)
def test_words_are_read_in_their_base_form(text, found):
    """In ASCII and in any other text, whatever stands between them; a name of code stays whole."""
    assert tokens([text]) == [found]


def test_the_words_of_a_long_text_lie_in_no_file():
    """A process that may write none sorts them all the same."""
    made = subprocess.run(
        [sys.executable, "-c", WRITING_NOTHING], stdout=subprocess.PIPE, text=True, check=True
    )
    assert made.stdout == "100000\n"


def test_each_of_several_texts_has_its_own_words():
    """Also one that has none between others, and the same text twice."""
    assert tokens(["Was it?", "", "ships", "Was it?"]) == [["be", "it"], [], ["ship"], ["be", "it"]]
    assert tokens([]) == []
