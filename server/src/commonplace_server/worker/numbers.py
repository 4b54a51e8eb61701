"""What bounds a worker, and a search whose saves leave the index to it: sizes, times, pauses."""

WORD_CHARACTERS = 1_000_000
"""Characters of what a search files in one transaction; then it files no more."""

WORDS_AT_A_SEARCH = 2_000
"""Changes whose words a search files before it looks, where saves leave that to it: about 2 s."""

BACKLOG_BATCH = 512
"""Changes that a worker leases at a time."""

BACKLOG_CHARACTERS = 200_000
"""Characters of what a worker encodes of these, about 10 s; the rest is given back."""

READ_AT_ONCE = 16
"""Records of the outbox read at a time, of which each may be a million characters long."""

USERS_AT_ONCE = 16
"""Users whose rows a worker writes in one transaction, who wait for each other meanwhile."""

BACKLOG_LEASE_S = 60.0
"""After this long another worker takes what one has leased: how long a killed one is waited for."""

BACKLOG_POLL_S = 0.5
"""How often a worker looks whether anything waits."""

ROLLED_AT_ONCE = 16
"""Users whose timelines a worker leases at a time."""

ROLLED_OF_ONE, ROLLING_TURN_S = 400, 0.5
"""How many summaries of one user are made, and for how long, before others have their turn."""

ROLLING_LEASE_S = 60.0
"""After this long another worker takes a user whom one has in hand: longer than all their turns."""

ROLLING_REST_S = 0.5
"""How long a user rests of whom more is due."""

ROLLING_FAILED_S = 60.0
"""How long one rests of whom nothing could be rolled up: where a journal does not answer, say."""

ROLLING_POLL_S = 1.0
"""How often a worker looks whether any user's timeline has a period that is due."""

VACUUM_EVERY_S = 600.0
"""How often a worker has the database free what is deleted, if anything was."""

PACK_EVERY_S = 86_400.0
"""How long what a user writes stays as it is before a worker packs it; and how long none does after
a migration: servers of the former version, which read rows alone, may serve until then."""

PACKED_AT_ONCE = 16
"""Users whom a worker takes in hand at a time to pack them."""

PACKING_LEASE_S = 600.0
"""After this long another worker takes who is not packed by then, twice as long each time."""

PACKING_POLL_S = 600.0
"""How often a worker looks whether anybody is to be packed."""

PREVIOUS_KEPT_S = 86_400.0
"""How long the vectors of a previous model stay once all new ones are made: as long as processes
may go on asking by it, while they are restarted one after the other."""

UNSEEN_REST_S = 60.0
"""How long ago something of a user's must have changed before a worker looks: what is written in
one go is looked at once."""

UPKEEP_POLL_S = 5.0
"""How often a worker looks whether any user waits for that, or has something that is due."""

UPKEEP_REST_S, UPKEEP_PAUSE_S = 600.0, 15.0
"""How long after the upkeep of a user, at the least, there is one because of what changed; and one
that goes on with what was begun."""

UPKEEP_FAILED_S = 86_400.0
"""When a user's upkeep comes again of which something is due that could not be done."""

UPKEEP_LEASE_S = 300.0
"""After this long another worker takes a user whose upkeep one has in hand: a minute of it, and the
last answer of a language model."""

UPKEEP_TURN_S = 60.0
"""How long a language model is asked for one user before others have their turn."""
