"""The figures of speed, memory and disk, each against a floor measured in the same run.

Never part of the product, and never judged in a timed test.
"""
