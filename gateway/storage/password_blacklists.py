"""Lists of forbidden passwords: a file each, a password a line.

The file is searched when a password is set, off the event loop, without regard to case.
Keycloak: passwordBlacklist, whose files lie in data/password-blacklists
"""

import asyncio
from pathlib import Path

from gateway.domain.secrets import Secret
from gateway.policies.candidate import missing_blacklist


class FilePasswordBlacklists:
    """The lists in one folder."""

    def __init__(self, folder: Path) -> None:
        """Use the files in `folder`, which may be missing."""
        self._folder = folder

    async def contains(self, name: str, password: Secret) -> bool:
        """Return whether the list has the password; raises InvalidInput without the list."""
        return await asyncio.to_thread(self._contains, name, password.reveal().lower())

    def _contains(self, name: str, wanted: str) -> bool:
        if not name or "/" in name or name in {".", ".."}:
            raise missing_blacklist(name)
        try:
            with (self._folder / name).open(encoding="utf-8", errors="replace") as lines:
                return any(line.rstrip("\r\n").lower() == wanted for line in lines)
        except (OSError, ValueError) as failure:  # a name with NUL is a ValueError
            raise missing_blacklist(name) from failure
