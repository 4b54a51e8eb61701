"""The verbs of each journal with search joined, for tools and people alike: values in and out."""
