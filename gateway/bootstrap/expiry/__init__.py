"""Builds what lists and reports the ends of certificates, revocation lists and keys."""
