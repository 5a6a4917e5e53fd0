"""Client certificates: parsing, path, revocation, and the development PKI that issues them.

Spec: RFC 5280; RFC 8705 §7.4, §7.5
"""
