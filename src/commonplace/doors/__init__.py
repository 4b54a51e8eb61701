"""The doors: MCP, command line, demo. They parse, call and render, and decide nothing."""
