"""The operator's keys, which encrypt secrets in the database: created, opened and checked."""

from typing import TYPE_CHECKING

from gateway.crypto.secrets_at_rest import load_or_create_keys, parse_keys
from gateway.domain.errors import SecretUnreadable
from gateway.settings import Settings, SettingsError

if TYPE_CHECKING:
    from gateway.domain.ports.storage import Database


def encryption_keys_exist(settings: Settings) -> bool:
    """Return whether the operator's keys are set, or their file is there."""
    return settings.encryption_key is not None or settings.encryption_key_file.exists()


def encryption_keys(settings: Settings) -> tuple[bytes, ...]:
    """Return the operator's keys, newest first; creates a missing key file."""
    if settings.encryption_key is not None:
        return parse_keys(settings.encryption_key.reveal(), "REALMGATE_ENCRYPTION_KEY")
    return load_or_create_keys(settings.encryption_key_file)


async def open_encryption_keys(settings: Settings) -> tuple[bytes, ...]:
    """Return the operator's keys, newest first; raises SettingsError where a key is missing."""
    if not encryption_keys_exist(settings) and await _lacks_key(settings):
        message = (
            f"there is no encryption key {settings.encryption_key_file}, and the database contains"
            " secrets that were encrypted with one. No key was created. Restore the key from your"
            " backup to this path (mode 0600), or set REALMGATE_ENCRYPTION_KEY_FILE to the path of"
            " the key or REALMGATE_ENCRYPTION_KEY to its content"
        )
        raise SettingsError((message,))
    return encryption_keys(settings)


async def check_encryption_keys(database: "Database", settings: Settings) -> None:
    """Raise SecretUnreadable where the keys do not decrypt the secrets in the database."""
    from gateway.domain.realm import MASTER  # noqa: PLC0415 - most commands need no check

    try:
        async with database.read() as stores:
            realm = await stores.realms.find_by_name(MASTER)
            if realm is not None:
                await stores.keys.list_keys(realm.id)
    except SecretUnreadable as failure:
        source = (
            f"{settings.encryption_key_file} (REALMGATE_ENCRYPTION_KEY_FILE)"
            if settings.encryption_key is None
            else "REALMGATE_ENCRYPTION_KEY"
        )
        raise SecretUnreadable(
            f"the encryption key in {source} does not decrypt the secrets in the database:"
            f" {failure}. Restore the key that belongs to this database from your backup"
        ) from failure


async def _lacks_key(settings: Settings) -> bool:
    from gateway.storage.sql.migrate import contains_secrets  # noqa: PLC0415 - only without a key

    found = await contains_secrets(settings.database_url)
    # Another process may have created the key and encrypted with it meanwhile.
    return found and not encryption_keys_exist(settings)
