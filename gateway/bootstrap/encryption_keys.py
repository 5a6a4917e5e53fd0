"""The operator's encryption keys: loaded, created once, and checked against the database."""

from gateway.crypto.keys import load_or_create_keys, parse_keys
from gateway.domain.errors import SecretUnreadable
from gateway.domain.ports.storage import Database
from gateway.domain.realm import MASTER
from gateway.settings import Settings, SettingsError
from gateway.storage.sql.revision import contains_secrets


def encryption_keys_exist(settings: Settings) -> bool:
    """Return whether the operator's keys are set, or their file is there."""
    return settings.encryption_key is not None or settings.encryption_key_file.exists()


def encryption_keys(settings: Settings) -> tuple[bytes, ...]:
    """Return the operator's keys, newest first; creates a missing key file."""
    if settings.encryption_key is not None:
        return parse_keys(settings.encryption_key.reveal(), "REALMGATE_ENCRYPTION_KEY")
    return load_or_create_keys(settings.encryption_key_file)


async def open_encryption_keys(settings: Settings) -> tuple[bytes, ...]:
    """Return the operator's keys, newest first; creates a key file only beside a new database.

    Raises SettingsError where the database contains secrets of a key that is missing.
    """
    if (
        not encryption_keys_exist(settings)
        and await contains_secrets(settings.database_url)
        # Another process may have created the key and encrypted with it meanwhile.
        and not encryption_keys_exist(settings)
    ):
        message = (
            f"there is no encryption key {settings.encryption_key_file}, and the database contains"
            " secrets that were encrypted with one. No key was created. Restore the key from your"
            " backup to this path (mode 0600), or set REALMGATE_ENCRYPTION_KEY_FILE to the path of"
            " the key or REALMGATE_ENCRYPTION_KEY to its content"
        )
        raise SettingsError((message,))
    return encryption_keys(settings)


async def check_encryption_keys(database: Database, settings: Settings) -> None:
    """Raise SecretUnreadable where the keys do not decrypt the secrets in the database."""
    try:
        async with database.read() as stores:
            realm = await stores.realms.find_by_name(MASTER)
            if realm is not None:
                await stores.keys.list(realm.id)
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
