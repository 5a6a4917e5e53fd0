"""Decisions about requests to protected sites: rules over plain values, without a framework."""
