"""Certificate authorities that administrators register for a realm or for one client of it.

A certificate is parsed and checked once, when it is registered.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from gateway.admin.access import require_changeable_clients
from gateway.admin.changes import Change
from gateway.admin.client_reach import lower_reach
from gateway.admin.clients import get_client
from gateway.admin.resources import Input, ResourceKind
from gateway.domain.certificates import (
    Authority,
    AuthorityKind,
    CertificateRefused,
    certificate_pem,
)
from gateway.domain.clients import Client
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.ports.certificates import AuthorityParser, MalformedCertificate
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.representations.certificates import (
    AuthorityInput,
    parse_authority,
    render_authority,
)
from gateway.representations.refusals import join

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


def with_parser(kind: ResourceKind[Authority], parser: AuthorityParser) -> ResourceKind[Authority]:
    """Return the kind with what parses and describes certificates."""

    def parse(document: Input[Authority]) -> Authority:
        return new_authority(parser, parse_authority(document.content), document.owner)

    def render(authority: Authority) -> dict[str, Any]:
        return render_authority(authority.kind, parser.describe_authority(authority.der))

    resolve = partial(resolve_file_authority, parser)
    file = None if kind.file is None else replace(kind.file, resolve=resolve)
    return replace(kind, parse=parse, render=render, file=file)


class OwningClients:
    """Clients with authorities of their own."""

    async def require_owner(self, stores: Stores, realm_id: str, owner: str) -> None:
        await get_client(stores, realm_id, owner)

    async def require_changeable(self, change: Change, owner: str) -> None:
        """Raise NotFound or Forbidden unless it is a client that may be changed.

        The authorities decide who can authenticate as the client: its reach is lowered.
        """
        found = await get_client(change.stores, change.realm.id, owner)
        require_changeable_clients(change.acting, found.client_id)
        await lower_reach(change, found.id)


async def resolve_file_authority(
    parser: AuthorityParser, stores: Stores, realm: Realm, given: AuthorityInput, _: object
) -> Authority:
    """Return the authority of a realm file, whose clients are stored before.

    Raises InvalidInput for a certificate that cannot be used and for an unknown client.
    """
    client: str | None = None
    if given.client is not None:
        found = await stores.clients.find_by_client_id(realm.id, given.client)
        if found is None:
            raise InvalidInput((FieldError(join(given.path, "client"), given.client, "a client"),))
        client = found.id
    return new_authority(parser, given, client)


def render_file_authority(authority: Authority, clients: Mapping[str, Client]) -> dict[str, Any]:
    """Return the JSON object in a realm file; `clients` by internal id."""
    rendered = {"kind": authority.kind.value, "certificate": certificate_pem(authority.der)}
    if authority.client is None:
        return rendered
    return {**rendered, "client": clients[authority.client].client_id}
