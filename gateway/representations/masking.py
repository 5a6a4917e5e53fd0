"""The text that stands for a secret. Sent back, it keeps the secret that was there. Keycloak."""

from typing import Final

MASK: Final = "**********"
