"""Protocols of what the rules need from adapters."""
