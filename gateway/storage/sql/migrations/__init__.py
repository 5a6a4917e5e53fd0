"""The schema's history. Revisions are four digits, one after another."""

HEAD = "0021"
"""The schema this version of the program works with."""
