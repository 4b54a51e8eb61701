"""Owns which tags an activity is offered: rules on whole words, then the owner's own vocabulary.

English only. Never reads a journal, never ranks entries, and never writes a tag by itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from typing import TYPE_CHECKING

from commonplace.core.text import fold_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

NEIGHBOUR_FLOOR = 0.5
"""Cosine from which a past entry counts as being about the same thing."""

NEIGHBOUR_ALONE = 0.7
"""Cosine from which one past entry's tags are enough; below, two entries must bear a tag."""

NEIGHBOURS = 5
"""How many of the nearest entries are asked."""

VOCABULARY_TAGS = 3
"""How many tags of the owner's own are offered at most."""

READ_LENGTH = 4_000
"""Characters of an activity that are read for rules; nobody says what it was later than that."""

OTHERWISE = "work"
"""The tag of an activity that nothing else is known of."""

# Phrases that hold a word of a rule and mean something else. They are taken out first.
_IDIOMS = (
    r"(?:machine|deep|reinforcement|transfer|e) ?-?learning|learning[ -]rates?",
    r"fixed[ -](?:widths?|sizes?|lengths?|position|points?)",
    r"fixed[ -](?:prices?|costs?|income|rates?|fees?|terms?)",
    r"press[ -]releases?|released? (?:my|his|her|our|their)",
    r"released? (?:the |a |its )?(?:\w+ )?(?:locks?|memory|mutex|handles?|brake)",
    r"(?:stomach|ladybug|june|love|bed) bugs?|bug me",
    r"cherry[ -]pick\w*|pick(?:ed|ing)? up|pick(?:ed|ing)? (?:\w+ ){1,3}(?<!set )up",
    r"decision[ -]trees?",
    r"(?:driving|blood|eye|drug) tests?|test strips?|test[ -]dr(?:ives?|ove)",
    r"(?:floor|meal|phone|data|health|insurance|payment|query|execution|pricing|pension)[ -]plans?",
    r"stand-?up (?:desks?|comedy|comedians?)|meeting rooms?",
    r"meeting (?:the |all |their )?(?:deadlines?|requirements?|goals?|demand|criteria)",
    r"book reviews?|paged through|service discovery",
    r"ship(?:ped|ping) (?:the |a |two |some |\w+ )?(?:parcels?|packages?|boxes|orders?|gifts?)",
)

# What can be reviewed, be down, be broken or cleaned: bounds for verbs too common to stand alone.
_CODE = (
    r"(?:code|modules?|class(?:es)?|functions?|methods?|handlers?|imports?|logic|scripts?|helpers?"
    r"|files?|config\w*|components?|services?|packages?|librar(?:y|ies)|tables?|columns?|variables?"
    r"|fields?|interfaces?|repo(?:sitory)?|quer(?:y|ies)|branch(?:es)?|schemas?|endpoints?|hooks?"
    r"|types?|monolith|controllers?|models?|crates?)"
)
_SERVICE = (
    r"(?:sites?|websites?|servers?|services?|apis?|databases?|db|clusters?|prod(?:uction)?|networks?"
    r"|systems?|apps?|checkout|payments?|logins?|queues?|gateway|vpn|cdn|dns|dashboard|backend"
    r"|everything)"
)
_CHANGE = r"(?:pull[ -]requests?|merge[ -]requests?|prs?|mrs?|patch(?:es)?|diffs?|change ?lists?)"
_FAULT = (
    r"(?:bugs?|issues?|errors?|crash(?:es)?|leaks?|defects?|faults?|regressions?|deadlocks?|races?"
    r"|problems?|failures?|typos?|glitch(?:es)?|exceptions?)"
)
_WRITE = r"(?:wr(?:ote|ite|ites|iting|itten)|draft(?:ed|ing)?|updat(?:ed?|ing)|add(?:ed|ing)?)"
_VERSION = r"v?\d+(?:\.\d+)+\S*|v\d+\S*"

_RULES: dict[str, tuple[str, ...]] = {
    "deployment": (
        r"(?:re)?deploy\w*",
        r"roll(?:ed|ing|s)?[ -]?outs?|rollouts?|rolled (?:\w+ ){1,4}out|roll(?:ed|ing)? ?back",
        r"ship(?:ped|ping|s)",
        r"(?:go|goes|going|went|gone|is|are|now) live|go-live",
        r"push(?:ed|ing)? (?:\S+ ){0,6}(?:to|into) (?:prod(?:uction)?|staging|live)",
        r"promoted (?:\S+ ){0,4}to (?:prod(?:uction)?|staging|live)",
    ),
    "bug-fix": (
        r"fix(?:es|ed|ing)?|(?:bug|hot|quick)[ -]?fix\w*",
        r"bugs?|debug(?:ged|ging|s)?|regressions?",
        rf"(?:resolv|solv|repair|patch|correct|squash|clos)(?:e|es|ed|ing) (?:\S+ ){{0,5}}{_FAULT}",
        r"patched (?:a|an|the) (?:\S+ ){0,4}(?:vulnerability|hole|bug|crash)",
        rf"track(?:ed|ing) down (?:\S+ ){{0,5}}{_FAULT}|root-caused",
        r"workarounds?|worked around",
    ),
    "decision": (
        r"decid(?:e|es|ed|ing)|decisions?",
        r"chose|chosen|choosing",
        r"pick(?:ed|ing)|opt(?:ed|ing) (?:for|to|in|out)|settl(?:ed|ing) (?:on|for)",
        r"agreed (?:to|on|that|we)|committed to using",
        r"(?:went|going|go) with(?! \w+ (?:to|and)(?!\w))",
        r"(?:gone|went|going) for (?:\S+ ){1,3}(?:over|instead)",
        r"made up (?:my|our) minds?|made the call",
    ),
    "learning": (
        r"(?:re)?learn(?:s|ed|t|ing)?|til|discover(?:s|ed|ing|y)?",
        r"figured (?:\w+ )?out|figuring out|found out|turns out|turned out",
        r"reali[sz]ed|understood|stud(?:ied|ying)|read (?:up )?(?:about|on)|lessons?",
        r"tutorials?|lectures?|webinars?|course (?:material|work|notes)",
        r"(?:finish|complet|start|t[ao]k|took|enrol|watch|join|attend)\w* (?:\S+ ){0,3}courses?",
    ),
    "testing": (
        r"(?:re|unit)?-?test(?:s|ed|ing|ers?)?|pytest|unittests?|tdd|qa",
        r"(?:code|test|branch|line|statement) coverage|coverage (?:of|to|from|at) \S*\d+",
        r"test-?cases?|e2e|(?:wrote|writing|ran) specs|fuzz(?:ed|ing)|benchmark(?:ed|ing)? suite",
    ),
    "review": (
        r"(?:re-?)?review(?:s|ed|ing|ers?)?|lgtm",
        rf"(?:approv|comment|look|went|go|going|read|feedback)\w* (?:\S+ ){{0,6}}{_CHANGE}",
        rf"{_CHANGE} (?:feedback|comments?|approv\w+)",
    ),
    "meeting": (
        r"meetings?|met (?:up )?with|stand-?ups?|scrum",
        r"1:1s?|1-?on-?1s?|one[ -](?:on|to)[ -]ones?",
        r"(?:sync|synced|call|calls|chat|chatted|catch[ -]?up|caught up|huddle) with",
        r"(?:team|client|customer|incident|video|conference|zoom|status|weekly) (?:call|sync)s?",
        r"kick-?offs?|retros?|retrospectives?|all[ -]hands|town ?halls?|off-?sites?|huddles?",
        r"interview(?:s|ed|ing)?|brainstorm(?:s|ed|ing)?|workshops?",
    ),
    "refactoring": (
        r"refactor\w*|restructur\w+|moderni[sz]ed|modulari[sz]\w+|decoupl\w+|de-?duplicat\w+",
        r"(?:tech(?:nical)?[ -]debt|dead code)",
        rf"(?:clean|tid)(?:ed|ied|ing|ying|s|y)?[ -]?up (?:\S+ ){{0,5}}{_CODE}",
        rf"(?:simplif|rewr|rework|reorgani[sz]|renam|inlin|consolidat)\w+ (?:\S+ ){{0,5}}{_CODE}",
        r"rewr\w+ (?:\S+ ){0,5}(?:from scratch|in (?:go|rust|python|typescript|java|c))",
        rf"split(?:ting)? (?:\S+ ){{0,5}}into (?:\S+ ){{0,3}}{_CODE}",
        rf"(?:extract|mov|pull)(?:ed|ing) (?:\S+ ){{0,5}}into (?:\S+ ){{0,3}}{_CODE}",
    ),
    "documentation": (
        r"document(?:ed|ing|ation)|docs|readmes?|changelogs?|docstrings?|wikis?|runbooks?|javadoc",
        r"(?:user|style|install\w*|migration|getting[ -]started) (?:guide|manual)s?|how-tos?",
        rf"{_WRITE} (?:\S+ ){{0,4}}(?:doc|guide|manual|tutorial|faq|handbook|release notes|adr)s?",
    ),
    "release": (
        r"(?:pre-?)?releas(?:e|es|ed|ing)|launch(?:ed|ing)",
        rf"(?:publish|tagg|cut|ship)(?:ed|ing)? (?:\S+ ){{0,3}}(?:{_VERSION})",
        r"publish(?:ed|ing) (?:\S+ ){0,5}(?:to|on) (?:npm|pypi|crates\S*|maven|nuget|the store)",
        r"version bump|bump(?:ed|ing)? (?:\S+ ){0,3}version",
    ),
    "planning": (
        r"(?:re-?)?plan(?:s|ned|ning)?|road-?maps?|backlogs?|milestones?|okrs?",
        r"(?:groom|refin)(?:ed|ing) (?:\S+ ){0,3}(?:tickets?|stor(?:y|ies)|backlog)",
        r"priorit(?:y|ies|i[sz]\w+)|estimat(?:e|es|ed|ing|ion)|scop(?:ed|ing)|sprint goals?",
        r"broke (?:\S+ ){0,5}(?:down )?into (?:\S+ )?(?:tasks|tickets|stories)",
    ),
    "incident": (
        r"incidents?|outages?|post-?mortems?|downtime|sev-?\d|root[ -]cause analysis",
        r"paged|pagerduty|on-?call (?:alert|page)s?",
        rf"{_SERVICE} (?:(?:was|is|were|are|went|goes) (?:\w+ )?)?(?:down|offline|unreachable)",
        r"p[01]|data (?:loss|breach)|security breach|restored service|service degradation",
    ),
}


def _whole_words(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(patterns)})(?!\w)")


_IDIOM = _whole_words(_IDIOMS)
_COMPILED = {tag: _whole_words(patterns) for tag, patterns in _RULES.items()}
_KINDS = frozenset(fold_name(tag) for tag in (*_RULES, OTHERWISE))


def suggest_tags(
    activity: str,
    context: str = "",
    *,
    neighbours: Sequence[tuple[float, tuple[str, ...]]] = (),
    folder: str | None = None,
    used: Collection[str] = (),
) -> tuple[str, ...]:
    """The tags an activity is offered: what kind it is, the owner's own words, its project.

    Kinds come first, in a fixed order; `work` stands where neither rules nor neighbours know more.
    No tag twice, however it is spelt.

    Args:
        activity: What was done.
        context: What else is said about it.
        neighbours: (cosine, tags) of past entries, any order.
        folder: The project folder's name; it becomes a tag only where the owner has used it as one,
            since `src` or `app` say nothing.
        used: Tags the owner has, beyond those of the neighbours.
    """
    kinds = kinds_of(f"{activity}\n{context}")
    own = _from_neighbours(neighbours, with_kinds=not kinds)
    tags = [*(kinds or (() if own else (OTHERWISE,))), *own]
    if folder:
        known = [*used, *(tag for _, theirs in neighbours for tag in theirs)]
        name = fold_name(folder)
        tags += [tag for tag in known if fold_name(tag) == name][:1]
    distinct: dict[str, str] = {}
    for tag in tags:
        distinct.setdefault(fold_name(tag), tag)
    return tuple(distinct.values())


def kinds_of(text: str) -> tuple[str, ...]:
    """The kinds of activity that the words of a text name; empty where no rule knows it."""
    plain = unicodedata.normalize("NFKC", text[:READ_LENGTH]).casefold().replace("_", " ")
    plain = _IDIOM.sub(" | ", " ".join(plain.split()))
    return tuple(tag for tag, pattern in _COMPILED.items() if pattern.search(plain))


def _from_neighbours(
    neighbours: Sequence[tuple[float, tuple[str, ...]]], *, with_kinds: bool
) -> list[str]:
    """The tags that the nearest entries share, heaviest first.

    with_kinds: also take kinds such as `deployment`, which a rule would know better.
    """
    nearest = sorted(neighbours, key=lambda each: -each[0])[:NEIGHBOURS]
    weights: defaultdict[str, float] = defaultdict(float)
    spelt: dict[str, str] = {}
    for cosine, tags in nearest:
        if cosine < NEIGHBOUR_FLOOR:
            break
        share = 1.0 if cosine >= NEIGHBOUR_ALONE else 0.5
        for tag in dict.fromkeys(tags):
            name = fold_name(tag)
            if name and (with_kinds or name not in _KINDS) and name != fold_name(OTHERWISE):
                weights[name] += share
                spelt.setdefault(name, tag)
    heavy = [name for name, weight in weights.items() if weight >= 1.0]
    return [spelt[name] for name in sorted(heavy, key=lambda n: -weights[n])[:VOCABULARY_TAGS]]
