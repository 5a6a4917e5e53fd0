"""The schema's history. Revisions are four digits, one after another."""

HEAD = "0023"
"""The schema this version of the program works with."""
