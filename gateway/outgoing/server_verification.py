"""How the gateway verifies the servers that it connects to by TLS: HTTP and mail servers alike."""

import ssl
from pathlib import Path


class ServerVerification:
    """Trusts the system's authorities, and those of the PEM file `authorities`."""

    def __init__(self, authorities: Path | None = None) -> None:
        self._authorities = authorities
        self._context: ssl.SSLContext | None = None

    def context(self) -> ssl.SSLContext:
        """Return a context for clients; loaded at the first use, as it takes memory.

        Raises OSError for a file that cannot be read.
        """
        if self._context is None:
            context = ssl.create_default_context()
            context.minimum_version = ssl.TLSVersion.TLSv1_2
            if self._authorities is not None:
                context.load_verify_locations(cafile=self._authorities)
            self._context = context
        return self._context
