"""The signature algorithms that policies accept. Spec: FAPI 2.0 Security Profile §5.4.1."""

from typing import Final

SECURE_ALGORITHMS: Final = ("PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""The first is the default."""
