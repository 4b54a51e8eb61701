"""What the tests of vector stores share with those of the indexes."""

from tests.index.conftest import encoder, folder, law, opened  # noqa: F401  fixtures
