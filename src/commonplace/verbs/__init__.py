"""Each journal's verbs, values in and an answer out, for tools, command line and page alike."""
