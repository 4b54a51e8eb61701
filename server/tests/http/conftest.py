"""What the tests of clients that sign in at the server share."""

from server.tests.http.authorization_world import client, documents, world  # noqa: F401  fixtures
