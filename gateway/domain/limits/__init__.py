"""Limits of every cost that a caller's input decides, one file per kind of cost."""
