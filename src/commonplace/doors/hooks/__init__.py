"""The hooks of clients: `commonplace hook <event>`, which reads, appends, prints and ends."""
