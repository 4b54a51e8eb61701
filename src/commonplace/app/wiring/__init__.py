"""How each journal is put together: from settings to a service, its tools and its sources."""
