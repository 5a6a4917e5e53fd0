"""Adapters to the cryptographic libraries: signing keys, secrets at rest, passwords, X.509."""
