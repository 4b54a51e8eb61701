"""Irregular forms of English words, brought to the one that a stemmer leaves alone.

Pure; holds only what a stemmer cannot know: it cuts endings, and "felt" has none.
"""

from __future__ import annotations

import re

# Past tenses and participles whose base form they do not begin with, and a few plurals.
_FORMS = """
be am is are was were been being
begin began begun
bite bit bitten
blow blew blown
break broke broken
bring brought
build built
buy bought
catch caught
choose chose chosen
come came
creep crept
deal dealt
dig dug
draw drew drawn
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
fly flew flown
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
get got gotten
give gave given
go went gone
grow grew grown
hang hung
hear heard
hide hid hidden
hold held
keep kept
know knew known
lead led
learn learnt
leave left
lend lent
lose lost
make made
mean meant
meet met
pay paid
ride rode ridden
ring rang rung
rise rose risen
run ran
say said
see saw seen
sell sold
send sent
shake shook shaken
shine shone
shoot shot
show shown
shrink shrank shrunk
sing sang sung
sink sank sunk
sit sat
sleep slept
speak spoke spoken
spend spent
stand stood
steal stole stolen
stick stuck
swim swam swum
swing swung
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
understand understood
wake woke woken
wear wore worn
win won
write wrote written
child children
foot feet
man men
mouse mice
person people
tooth teeth
woman women
"""
BASES = {
    form: base
    for base, *forms in (line.split() for line in _FORMS.split("\n") if line)
    for form in forms
}


_WORD = re.compile(r"(\w+)")


def base_forms(text: str) -> str:
    """A folded text with irregular forms in their base form: "felt" is "feel"."""
    parts = _WORD.split(text)  # one pattern of all forms takes three times as long
    return "".join(map(BASES.get, parts, parts))
