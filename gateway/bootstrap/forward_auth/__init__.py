"""Builds forward authentication: its sites and its decisions."""
