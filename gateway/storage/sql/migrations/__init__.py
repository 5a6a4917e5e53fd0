"""The schema's history. Revisions are four digits, one after another."""

HEAD = "0003"
"""The schema this version of the program works with."""
