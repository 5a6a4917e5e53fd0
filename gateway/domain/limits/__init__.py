"""Limits of every cost that depends on input: one module for each kind of cost.

Code that parses, hashes, matches or caches input takes its bounds from here, and from nowhere else.
"""
