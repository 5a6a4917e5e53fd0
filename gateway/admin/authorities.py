"""Certificate authorities that administrators register for a realm or for one client of it.

A certificate is parsed and checked once, when it is registered. The `certificateAuthorities` of a
realm file replace an authority with the same certificate, and remove none.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from gateway.admin.access import Acting, require_changeable_clients
from gateway.admin.changes import Change, Changes
from gateway.admin.client_reach import lower_reach
from gateway.admin.clients import get_client
from gateway.domain.certificates import (
    MOST_AUTHORITIES,
    Authority,
    AuthorityKind,
    CertificateRefused,
)
from gateway.domain.errors import AlreadyExists, FieldError, InvalidInput
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.limits.input_sizes import in_slices
from gateway.domain.ports.certificates import AuthorityParser, MalformedCertificate
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest, NotFound
from gateway.representations.certificates import (
    AuthorityInput,
    parse_authorities,
    parse_authority,
    render_authority,
)
from gateway.representations.field_table import Names
from gateway.representations.refusals import collect_refusals, join, raise_all

_ALLOWED: Final = "one certificate of an authority in PEM"


def new_authority(parser: AuthorityParser, given: AuthorityInput, client: str | None) -> Authority:
    """Return the authority for a client's internal id, or for the realm; raises InvalidInput."""
    try:
        found = parser.parse_authority(given.certificate)
    except (MalformedCertificate, CertificateRefused) as error:
        at = join(given.path, "certificate")
        field = FieldError(at, "a certificate", _ALLOWED, sentence=f"{error}; allowed: {_ALLOWED}")
        raise InvalidInput((field,)) from error
    standard = AuthorityKind.ANCHOR if found.self_signed else AuthorityKind.INTERMEDIATE
    return Authority(found.sha256, given.kind or standard, found.der, client)


_NOT_FOUND: Final = "Authority not found"


class AuthorityAdministration:
    """The use cases. All raise StoreUnavailable.

    `client` is the internal id of a client, None for the realm itself: NotFound where there is
    none. `sha256` is that of the certificate, in lower-case hexadecimal.
    """

    def __init__(self, database: Database, changes: Changes, parser: AuthorityParser) -> None:
        self._database = database
        self._changes = changes
        self._parser = parser

    async def list(self, realm: Realm, client: str | None = None) -> list[dict[str, Any]]:
        """Return the authorities of the realm itself, or those of the client."""
        async with self._database.read() as stores:
            if client is not None:
                await get_client(stores, realm.id, client)
            found = await stores.authorities.list(realm.id)
        own = (authority for authority in found if authority.client == client)
        return [self._rendered(authority) async for authority in in_slices(own)]

    async def one(self, realm: Realm, client: str | None, sha256: str) -> dict[str, Any]:
        """Return the authority; raises NotFound."""
        async with self._database.read() as stores:
            found = await stores.authorities.find(realm.id, client, sha256)
        return self._rendered(_require_authority(found))

    async def add(self, acting: Acting, client: str | None, document: Mapping[str, Any]) -> str:
        """Register an authority and return its `sha256`.

        Raises InvalidInput, InvalidRequest, AlreadyExists and Forbidden.
        """
        authority = new_authority(self._parser, parse_authority(document), client)
        async with self._changes.begin(acting, alone=True) as change:
            await _require_client(change, client)
            stored, realm_id = change.stores.authorities, change.realm.id
            if await stored.find(realm_id, client, authority.sha256) is not None:
                raise AlreadyExists(f"Authority {authority.sha256} already exists")
            if len(await stored.list(realm_id)) >= MOST_AUTHORITIES:
                raise InvalidRequest(
                    f"A realm has at most {MOST_AUTHORITIES} authorities, its clients included"
                )
            await stored.put(realm_id, authority)
            self._record(change, OperationType.CREATE, authority)
        return authority.sha256

    async def remove(self, acting: Acting, client: str | None, sha256: str) -> None:
        """Remove an authority: its certificates are not trusted then. Raises NotFound."""
        async with self._changes.begin(acting, alone=True) as change:
            await _require_client(change, client)
            stored, realm_id = change.stores.authorities, change.realm.id
            authority = _require_authority(await stored.find(realm_id, client, sha256))
            await stored.remove(realm_id, client, sha256)
            self._record(change, OperationType.DELETE, authority)

    def _rendered(self, authority: Authority) -> dict[str, Any]:
        return render_authority(authority.kind, self._parser.describe_authority(authority.der))

    def _record(self, change: Change, operation: OperationType, authority: Authority) -> None:
        path = f"certificates/authorities/{authority.sha256}"
        if authority.client is not None:
            path = f"clients/{authority.client}/{path}"
        change.record(operation, ResourceType.CUSTOM, path, self._rendered(authority))
        change.invalidate(realm_topic(change.realm.id))


async def _require_client(change: Change, client: str | None) -> None:
    """Raise NotFound or Forbidden unless it is None or a client that may be changed.

    The authorities decide who can authenticate as the client: its reach is lowered.
    """
    if client is not None:
        found = await get_client(change.stores, change.realm.id, client)
        require_changeable_clients(change.acting, found.client_id)
        await lower_reach(change, found.id)


def _require_authority(authority: Authority | None) -> Authority:
    if authority is None:
        raise NotFound(_NOT_FOUND)
    return authority


_MEMBER: Final = "certificateAuthorities"
_NAMES: Final = Names((_MEMBER,))


def read_authorities(document: Mapping[str, Any], path: str) -> tuple[AuthorityInput, ...]:
    """Return the authorities of a realm file; raises InvalidInput."""
    errors: list[FieldError] = []
    at, found = _NAMES.collect(document, path, errors).get(_MEMBER, ("", []))
    raise_all(errors)
    return parse_authorities(found, at)


async def store_authorities(
    stores: Stores, realm: Realm, given: Sequence[AuthorityInput], parser: AuthorityParser
) -> bool:
    """Store the authorities of a file, after its clients; return whether anything has changed.

    Raises InvalidInput for a certificate that cannot be used, an unknown client or too many.
    """
    if not given:
        return False
    errors: list[FieldError] = []
    new: list[Authority] = []
    async for one in in_slices(given):
        client: str | None = None
        if one.client is not None:
            found = await stores.clients.find_by_client_id(realm.id, one.client)
            if found is None:
                errors.append(FieldError(join(one.path, "client"), one.client, "a client"))
                continue
            client = found.id
        with collect_refusals(errors):
            new.append(new_authority(parser, one, client))
    raise_all(errors)
    known = {(item.client, item.sha256): item for item in await stores.authorities.list(realm.id)}
    changed = [item for item in new if item != known.get((item.client, item.sha256))]
    total = len(known.keys() | {(item.client, item.sha256) for item in new})
    if total > MOST_AUTHORITIES:
        allowed = f"at most {MOST_AUTHORITIES} in the realm"
        raise_all((FieldError(_MEMBER, f"{total} authorities", allowed),))
    for authority in changed:
        await stores.authorities.put(realm.id, authority)
    return bool(changed)
