"""Language models: asking them, what they may cost, and summaries with and without one."""
