"""Limits of every cost that depends on input.

Code that parses, hashes or matches input takes its bounds from here. A cache is made with the
mechanism of `caches` and states its size in bytes where it is made.
"""
