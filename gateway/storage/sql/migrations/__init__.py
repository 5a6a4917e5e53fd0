"""The schema's history. Revisions are four digits, one after another."""

HEAD = "0001"
"""The schema this version of the program works with."""
