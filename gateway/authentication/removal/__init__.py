"""Removing accounts, and credentials by their users."""

from gateway.authentication.removal.accounts import AccountRemoval
from gateway.authentication.removal.credentials import (
    CredentialNotFound,
    CredentialNotRemovable,
    LevelTooLow,
    RemovalWarning,
    find_removable,
    held_credentials,
    removal_warning,
)
