"""Sentences as people log them, each with the tags a careful reader would give it.

The held-out half was written before the rules and is never used to tune them: it measures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


class Sentence(NamedTuple):
    """One logged activity and its tags, several separated by a space."""

    text: str
    tags: str

    @property
    def expected(self) -> frozenset[str]:
        """The tags as a set."""
        return frozenset(self.tags.split())


HELD_OUT = (
    Sentence("deployed the billing service to production", "deployment"),
    Sentence("redeploying the worker after the config change", "deployment"),
    Sentence("rollout of the new search finished in the EU region", "deployment"),
    Sentence("shipped dark mode to every customer", "deployment"),
    Sentence("pushed the hot path change to prod", "deployment"),
    Sentence("the new onboarding flow went live this morning", "deployment"),
    Sentence("fixed the login redirect loop on Safari", "bug-fix"),
    Sentence("squashed a nasty race condition bug in the scheduler", "bug-fix"),
    Sentence("resolved the memory leak in the image cache", "bug-fix"),
    Sentence("patched a null pointer crash in the export job", "bug-fix"),
    Sentence("spent two hours debugging the flaky websocket reconnect", "bug-fix"),
    Sentence("corrected an off-by-one error in the pager", "bug-fix"),
    Sentence("decided to keep Postgres and drop Mongo", "decision"),
    Sentence("chose TypeScript for the new client", "decision"),
    Sentence("we picked Terraform over Pulumi", "decision"),
    Sentence("settled on weekly invoices instead of monthly ones", "decision"),
    Sentence("going with server-side rendering for the shop", "decision"),
    Sentence("TIL that git worktree saves a second clone", "learning"),
    Sentence("learned how lifetimes work in Rust", "learning"),
    Sentence("discovered that the API caps pages at 500 rows", "learning"),
    Sentence("finally figured out how the cache invalidation works", "learning"),
    Sentence("worked through a tutorial on Kubernetes operators", "learning"),
    Sentence("wrote unit tests for the tax calculator", "testing"),
    Sentence("raised code coverage of the parser to 92 percent", "testing"),
    Sentence("load-tested the gateway with 2,000 users", "testing"),
    Sentence("added end-to-end tests for checkout", "testing"),
    Sentence("QA pass over the mobile build", "testing"),
    Sentence("reviewed PR 214 from the platform team", "review"),
    Sentence("code review for the audit log branch", "review"),
    Sentence("left comments on the pull request about retries", "review"),
    Sentence("approved the merge request for the theme switcher", "review"),
    Sentence("daily standup, nothing blocked", "meeting"),
    Sentence("1:1 with my manager about the next quarter", "meeting"),
    Sentence("met with the design team about icons", "meeting"),
    Sentence("retro with the backend crew", "meeting"),
    Sentence("call with the vendor about the contract", "meeting"),
    Sentence("interviewed a candidate for the data role", "meeting"),
    Sentence("refactored the payment module into smaller classes", "refactoring"),
    Sentence("extracted the mailer into its own package", "refactoring"),
    Sentence("cleaned up dead code in the importer", "refactoring"),
    Sentence("renamed the user table columns for consistency", "refactoring"),
    Sentence("wrote docs for the webhook endpoint", "documentation"),
    Sentence("updated the README with install steps", "documentation"),
    Sentence("documented the backup procedure in the wiki", "documentation"),
    Sentence("added docstrings to the geometry functions", "documentation"),
    Sentence("released v2.4.0 of the command line tool", "release"),
    Sentence("cut the 1.9 release candidate", "release"),
    Sentence("published 0.3.1 to npm", "release"),
    Sentence("tagged v5.0.0", "release"),
    Sentence("sprint planning for the next two weeks", "planning"),
    Sentence("drew up the roadmap for spring", "planning"),
    Sentence("groomed the backlog and dropped stale tickets", "planning"),
    Sentence("estimated the migration at three weeks", "planning"),
    Sentence("production outage: the primary database was unreachable for 20 minutes", "incident"),
    Sentence("wrote the postmortem for Tuesday", "incident"),
    Sentence("got paged at 3am because the queue backed up", "incident"),
    Sentence("the site went down for ten minutes", "incident"),
    Sentence("fixed the failing integration tests", "bug-fix testing"),
    Sentence("decided to postpone the deployment until Monday", "decision deployment"),
    Sentence("reviewed and deployed the rate limiter", "review deployment"),
    Sentence("incident call: rolled the deploy back", "incident deployment"),
    Sentence("upgraded to the latest version of Node", "work"),
    Sentence("added a prefix to the cache keys", "work"),
    Sentence("entered the photo contest", "work"),
    Sentence("set up fixtures for the kitchen lights", "work"),
    Sentence("previewed the slides for Thursday", "work"),
    Sentence("booked flights to Lisbon", "work"),
    Sentence("watched the planet documentary", "work"),
    Sentence("added a suffix column to the names table", "work"),
    Sentence("picked up groceries after lunch", "work"),
    Sentence("trained a machine learning model on the sales figures", "work"),
    Sentence("met the deadline for the tax filing", "work"),
    Sentence("implemented the CSV importer", "work"),
    Sentence("docked the laptop and set up two monitors", "work"),
)

TUNING = (
    Sentence("deploy of api v3 to staging", "deployment"),
    Sentence("rolled out feature flags to 10% of users", "deployment"),
    Sentence("shipped the new pricing page", "deployment"),
    Sentence("pushed the hotfix to production", "bug-fix deployment"),
    Sentence("deployments are green again", "deployment"),
    Sentence("fix: handle empty arrays in the parser", "bug-fix"),
    Sentence("fixing the broken link on the pricing page", "bug-fix"),
    Sentence("found the bug: the token was never refreshed", "bug-fix"),
    Sentence("bugfix for the date picker", "bug-fix"),
    Sentence("tracked down the crash on startup", "bug-fix"),
    Sentence("worked on bug-fix branches all day", "bug-fix"),
    Sentence("decision: we stay on Python 3.11", "decision"),
    Sentence("we decide on Friday which vendor to take", "decision"),
    Sentence("opted for SQLite over Postgres", "decision"),
    Sentence("agreed to drop support for IE", "decision"),
    Sentence("went with blue for the call to action", "decision"),
    Sentence("learning Go generics", "learning"),
    Sentence("today I learned about tail recursion", "learning"),
    Sentence("found out why DNS was so slow", "learning"),
    Sentence("finished a course on statistics", "learning"),
    Sentence("read up on vector clocks", "learning"),
    Sentence("tested the backup restore", "testing"),
    Sentence("testing the new signup form", "testing"),
    Sentence("ran the test suite on Windows", "testing"),
    Sentence("wrote pytest cases for the scheduler", "testing"),
    Sentence("smoke test of the nightly build", "testing"),
    Sentence("reviewing the security audit", "review"),
    Sentence("did a review of the onboarding text", "review"),
    Sentence("went over the pull request with Sam", "review"),
    Sentence("stand-up at 9", "meeting"),
    Sentence("team meeting about hiring", "meeting"),
    Sentence("one-on-one with Dana", "meeting"),
    Sentence("kickoff for the analytics project", "meeting"),
    Sentence("sync with the infra team", "meeting"),
    Sentence("all-hands in the afternoon", "meeting"),
    Sentence("refactoring the auth middleware", "refactoring"),
    Sentence("split the monolith handler into three modules", "refactoring"),
    Sentence("simplified the retry logic", "refactoring"),
    Sentence("moved validation code into its own module", "refactoring"),
    Sentence("wrote a runbook for restoring backups", "documentation"),
    Sentence("writing documentation for the SDK", "documentation"),
    Sentence("updated the changelog", "documentation"),
    Sentence("drafted the user guide", "documentation"),
    Sentence("release 4.2 is out", "release"),
    Sentence("releasing version 1.0 today", "release"),
    Sentence("bumped the version to 3.1.0 and published it", "release"),
    Sentence("launched the public beta", "release"),
    Sentence("planned the database migration", "planning"),
    Sentence("prioritized tickets for next sprint", "planning"),
    Sentence("set milestones for the mobile app", "planning"),
    Sentence("roadmap session with product", "planning"),
    Sentence("incident 42 closed", "incident"),
    Sentence("outage on the CDN, customers saw 502s", "incident"),
    Sentence("the API was down for an hour", "incident"),
    Sentence("root cause analysis of yesterday's downtime", "incident"),
    Sentence("sev2 in the payments cluster, mitigated by 14:00", "incident"),
    Sentence("fixed a typo in the docs", "bug-fix documentation"),
    Sentence("refactored the parser and added tests", "refactoring testing"),
    Sentence("standup, then sprint planning", "meeting planning"),
    Sentence("decided in the architecture meeting to use gRPC", "decision meeting"),
    Sentence("released v2 and wrote the announcement", "release"),
    Sentence("installed the latest packages", "work"),
    Sentence("wrote a prefix tree in C", "work"),
    Sentence("created a fixture for the shelf", "work"),
    Sentence("won a chess contest", "work"),
    Sentence("fixed-width layout for the report", "work"),
    Sentence("cherry-picked two commits from main", "work"),
    Sentence("tuned the learning rate", "work"),
    Sentence("picked the kids up from school", "work"),
    Sentence("incidentally bought a new keyboard", "work"),
    Sentence("protested against the rent increase", "work"),
    Sentence("went down to the river for a run", "work"),
    Sentence("printed the floor plan", "work"),
    Sentence("started on the settings screen", "work"),
    Sentence("sent the press release to the printer", "work"),
    Sentence("released the file lock earlier", "work"),
    Sentence("stayed home with a stomach bug", "work"),
    Sentence("bought test strips for the aquarium", "work"),
    Sentence("shipping the order tomorrow", "work"),
    Sentence("wrote specs for the booking flow", "testing"),
    Sentence("server down since 4am", "incident"),
    Sentence("P1: checkout returns 500s", "incident"),
    Sentence("finished reviewing Anna's MR", "review"),
    Sentence("rewrote the importer from scratch in Go", "refactoring"),
    Sentence("of course it works now", "work"),
    Sentence("main course was great", "work"),
    Sentence("released my frustration at the gym", "work"),
    Sentence("going with Anna to the cinema", "work"),
    Sentence("prefixes, suffixes and affixes", "work"),
    Sentence("attested copies at the notary", "work"),
    Sentence("bug_fix in date_utils", "bug-fix"),
    Sentence("relearned vim", "learning"),
    Sentence("picked Rust and set up the project", "decision"),
)


def precision_recall(
    pairs: Iterable[tuple[Collection[str], Collection[str]]],
) -> tuple[float, float]:
    """Precision and recall over (expected, suggested) tags, every tag of every sentence alike."""
    hits = expected_count = suggested_count = 0
    for expected, suggested in pairs:
        hits += len(set(expected) & set(suggested))
        expected_count += len(set(expected))
        suggested_count += len(set(suggested))
    return hits / max(suggested_count, 1), hits / max(expected_count, 1)
