"""What the tests of the server share with those of the core's doors and indexes."""

from tests.doors.conftest import (  # noqa: F401  fixtures
    known_hashes,
    known_weights,
    move_home,
    shared_world,
    small_model,
    small_weights,
    words_only,
)
from tests.index.conftest import encoder, law  # noqa: F401  fixtures
