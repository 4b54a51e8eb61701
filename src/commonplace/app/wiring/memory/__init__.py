"""The wiring of memories: those in files here, those in a database as `app.backends` names it."""
