"""The installation that a command works on: an existing one, so that none is created by mistake.

The state folder is `var` below the working directory unless it is set. A command that is started
in another folder must not create a key there and encrypt a realm's secrets with it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.settings import Settings


def installed_settings(*, begins: bool = False, needs_key: bool = True) -> "Settings":
    """Return the settings of an installation; raises SettingsError where there is none.

    A command that `begins` may create database and key in a folder that is set explicitly.
    """
    from gateway.settings import SettingsError, load_settings

    settings = load_settings()
    may_create = begins and "state_dir" in settings.given
    if not may_create and (
        missing := tuple(_missing(settings, begins=begins, needs_key=needs_key))
    ):
        raise SettingsError(missing)
    return settings


def _missing(settings: "Settings", *, begins: bool, needs_key: bool) -> Iterator[str]:
    given = settings.given
    database = _database_file(settings)
    if "database_url" not in given and database is not None and not database.exists():
        yield (
            f"no Realmgate state in {settings.state_dir}: set REALMGATE_STATE_DIR to the folder of"
            " the gateway that is meant, or REALMGATE_DATABASE_URL and REALMGATE_ENCRYPTION_KEY"
            " (after scripts/run --detach: set -a; . var/run.env; set +a)"
        )
        return
    if database is not None and not database.exists() and not begins:
        yield f"there is no database {database}: see REALMGATE_DATABASE_URL"
    key = settings.encryption_key_file
    if needs_key and settings.encryption_key is None and not key.exists():
        yield (
            f"there is no key {key} that opens the database: set REALMGATE_STATE_DIR,"
            " REALMGATE_ENCRYPTION_KEY or REALMGATE_ENCRYPTION_KEY_FILE"
        )


def _database_file(settings: "Settings") -> Path | None:
    from gateway.storage.sql.address import SqliteFile, parse_database_url

    address = parse_database_url(settings.database_url)
    return address.path if isinstance(address, SqliteFile) else None
