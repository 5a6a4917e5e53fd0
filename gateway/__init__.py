"""Realmgate: realms, OAuth 2.0 tokens and client certificates, beside nginx."""

__version__ = "0.1.0"
