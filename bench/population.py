"""Many clients and many realms in a database, in seconds instead of hours.

Clients are copies of one that the import made, by one statement a table. Realms go through the
product's own import; they share one RSA key, for making a thousand would take minutes and prove
nothing: each is sealed, stored and parsed for itself.
"""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import rsa

from bench.processes import BenchError
from bench.stack import CLIENT, REALM, Site, client_document
from bench.workspace import BENCH

_COPY_CLIENTS = BENCH / "copy_clients.sql"


def add_clients(site: Site, count: int) -> None:
    """Add device-1 to device-COUNT to the realm of the measurements."""
    values = {"count": count, "realm": REALM, "client": CLIENT}
    with closing(sqlite3.connect(site.state / "realmgate.db")) as database, database:
        copies = []
        for statement in _COPY_CLIENTS.read_text().strip().removesuffix(";").split(";\n"):
            database.execute(statement, values)
            copies += database.execute("SELECT changes()").fetchone()
    if copies[:2] != [count, count]:
        raise BenchError(f"copied {copies} clients, accounts and roles instead of {count}")


def add_realms(site: Site, count: int) -> None:
    """Add the realms bench-1 to bench-COUNT, each with its key and one client."""
    asyncio.run(_add_realms(site, count))


async def _add_realms(site: Site, count: int) -> None:
    # The product's own parts, imported here: the rest of the bench is a stranger to it.
    from gateway.admin.realm_files.files import RealmFile  # noqa: PLC0415
    from gateway.admin.realm_files.realm_import import RealmImport  # noqa: PLC0415
    from gateway.bootstrap import open_services  # noqa: PLC0415
    from gateway.crypto.realm_keys import PyJwtKeyFactory  # noqa: PLC0415
    from gateway.crypto.x509.reader import X509AuthorityParser  # noqa: PLC0415
    from gateway.settings import load_settings  # noqa: PLC0415

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    settings = load_settings(environment=site.environment(), env_file=Path("/nonexistent"))
    documents = [
        {
            "realm": f"{REALM}-{number}",
            "enabled": True,
            "sslRequired": "all",
            "clients": [client_document(CLIENT)],
        }
        for number in range(1, count + 1)
    ]
    async with open_services(settings) as services:
        importing = RealmImport(
            database=services.database,
            keys=PyJwtKeyFactory(lambda: key),
            authorities=X509AuthorityParser(),
            passwords=services.passwords,
            clock=services.clock,
        )
        await importing.run([RealmFile("bench", documents)])
