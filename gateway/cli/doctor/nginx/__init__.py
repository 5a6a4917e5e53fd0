"""Reads nginx's configuration and finds mistakes that others made before."""
