"""OAuth 2.0 and OpenID Connect as rules over plain values: no framework, no storage."""
