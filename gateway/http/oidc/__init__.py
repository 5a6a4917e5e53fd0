"""OAuth 2.0 and OpenID Connect endpoints of a realm."""
