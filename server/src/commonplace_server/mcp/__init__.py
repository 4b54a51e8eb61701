"""The official MCP SDK, imported here alone."""
