"""A realm as a file that `RealmImport` reads back: settings, roles, groups, clients, users.

Secrets are masked unless they are asked for; a masked one is left alone on import, or made anew.
Users are read and written some at a time, so that a realm of a million takes no more memory than
one of a hundred. Keycloak: realm export
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

import orjson

from gateway.admin.realm_files.document import RealmDocument
from gateway.domain.errors import RealmNotFound
from gateway.domain.ports.storage import Database, Stores

_AT_ONCE: Final = 500
_END: Final = b"\n}\n"
_INDENT: Final = b"\n    "


async def stream_realm(
    database: Database, name: str, *, include_secrets: bool = False
) -> AsyncGenerator[bytes, None]:
    """Yield the JSON text of the realm named `name`, part by part; raises RealmNotFound.

    Whoever stops before the end closes it: it holds a transaction.
    """
    async with database.read() as stores:
        realm = await stores.realms.find_by_name(name)
        if realm is None:
            raise RealmNotFound(name)
        parts = await RealmDocument(stores, realm, masked=not include_secrets).loaded()
        head = _text(await parts.all_but_users()).removesuffix(_END)
        yield head + b',\n  "users": ['
        separator = b""
        async with aclosing(_users(stores, realm.id, parts)) as users:
            async for user in users:
                yield separator + _INDENT + user.replace(b"\n", _INDENT)
                separator = b","
        yield (b"\n  ]" if separator else b"]") + _END


async def _users(
    stores: Stores, realm_id: str, parts: RealmDocument
) -> AsyncGenerator[bytes, None]:
    """Yield the users by name, the text of each without a line's end."""
    last = ""
    while batch := await stores.user_batches.after(realm_id, last, _AT_ONCE):
        for whole in batch:
            yield orjson.dumps(parts.user(whole), option=orjson.OPT_INDENT_2)
        last = batch[-1].user.username


def _text(document: dict[str, Any]) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
