"""The kinds of small resources, each by its declaration, and their table.

An entry of a deny list counts at every gateway within one second; the list of the realm master
counts in every realm. A certificate of an authority is parsed and checked once, when it is
registered. Whether a realm may have the host of a protected site is decided where sites are stored,
for realm files as well; a replaced site keeps its `bearerAudience` where the document has none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from gateway.admin.access import (
    AdminRole,
    require_changeable_clients,
    require_rights_over_every_realm,
)
from gateway.admin.changes import Change
from gateway.admin.client_reach import lower_reach
from gateway.admin.clients import MANAGE_CLIENTS, VIEW_CLIENTS, get_client
from gateway.admin.realms import VIEW_REALM
from gateway.admin.resources import FileMember, Input, Page, ResourceKind, Summaries
from gateway.domain.certificates import (
    MOST_AUTHORITIES,
    MOST_DENIED,
    STORED_AUTHORITIES,
    STORED_DENIED_CERTIFICATES,
    Authority,
    AuthorityKind,
    CertificateRefused,
    DeniedCertificate,
    authority_id,
    certificate_pem,
)
from gateway.domain.clients import Client
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.forward_auth import Site, UnreadableSite, unusable_setting
from gateway.domain.ports.certificates import AuthorityParser, MalformedCertificate
from gateway.domain.ports.invalidation import deny_list_topic
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest
from gateway.domain.resources import StoredKind
from gateway.representations.certificates import (
    AUTHORITY_FIELDS,
    DENIED_CERTIFICATE,
    DENIED_CERTIFICATE_FIELDS,
    AuthorityInput,
    parse_authorities,
    parse_authority,
    parse_denied_certificate,
    render_authority,
)
from gateway.representations.refusals import join
from gateway.representations.sites import (
    MOST_SITES,
    SITE_FIELDS,
    parse_realm_sites,
    parse_site,
    render_site,
    with_bearer_audience,
)

AnySite = Site | UnreadableSite


class StoredSites:
    """The sites of a realm by name, unreadable ones included."""

    def __init__(self, stores: Stores) -> None:
        self._sites = stores.sites
        self.find_value, self.remove_value = self._sites.find_site, self._sites.remove_site

    async def list_values(self, realm_id: str, *_: object, **__: object) -> Sequence[AnySite]:
        readable = await self._sites.list_sites(realm_id)
        unreadable = await self._sites.list_unreadable(realm_id)
        return sorted((*readable, *unreadable), key=lambda site: site.name)

    async def count_values(self, realm_id: str) -> int:
        return len(await self.list_values(realm_id))

    async def put_value(self, realm_id: str, value: AnySite) -> None:
        """Store a site; raises AlreadyExists for a host that it may not have."""
        if isinstance(value, Site):
            await self._sites.put_site(realm_id, value)

    add = put_value


def parse_resource(document: Input[AnySite]) -> Site:
    """Return the site of a document; raises InvalidInput."""
    site = parse_site(document.content, realm=document.realm_name)
    return with_bearer_audience(site, document.before)


async def require_usable_client(change: Change, site: AnySite) -> None:
    """Raise InvalidRequest for a client with a setting by which no browser can sign in.

    The client may be created later: the sign-in is refused then, with the same reason.
    """
    if isinstance(site, UnreadableSite) or site.client is None:
        return
    client = await change.stores.clients.find_by_client_id(change.realm.id, site.client)
    unusable = None if client is None else unusable_setting(client)
    if unusable is not None:
        raise InvalidRequest(f"Client {site.client} cannot sign browsers in: {unusable}")


async def resolve_file_site(
    _stores: Stores, _realm: Realm, site: Any, known: Mapping[str, AnySite]
) -> AnySite:
    """Return the site as it is to be stored; `known` are those of the realm by name."""
    return with_bearer_audience(site, known.get(site.name))


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


_MANAGE_REALM: Final = (AdminRole.MANAGE_REALM,)
_LARGEST_SITE: Final = 256 * 1024
"""Bytes: a thousand rules of usual size."""


async def _require_may_deny(change: Change, _: DeniedCertificate) -> None:
    """Raise MissingRights for an entry that counts in realms beyond the caller's rights."""
    require_rights_over_every_realm(change.acting, "the deny list")


DENIED_CERTIFICATES: Final = ResourceKind(
    title="Denied certificate",
    plural="denied certificates",
    path="certificates/denied",
    tag="Denied Certificates",
    representation=DENIED_CERTIFICATE,
    fields=DENIED_CERTIFICATE_FIELDS,
    stored=STORED_DENIED_CERTIFICATES,
    summaries=Summaries(
        list="List the denied certificates of the realm, oldest first",
        create="Deny a certificate by its thumbprint, or by issuer and serial number",
        get="Get a denied certificate",
        delete="Remove a certificate from the deny list",
    ),
    view=VIEW_REALM,
    manage=_MANAGE_REALM,
    most=MOST_DENIED,
    most_hint=": use a revocation list",
    page_size=100,
    describes_fields=False,
    topic=deny_list_topic,
    page=Page(
        room="Certificates",
        columns=("thumbprint", "issuer", "serial", "reason", "expirationTimestamp"),
        form=(("thumbprint",), ("issuer", "serial"), ("reason", "expirationTimestamp")),
        labels={"createdTimestamp": "Created", "expirationTimestamp": "Expires"},
        help={
            "thumbprint": "SHA-256 of the certificate, hexadecimal or base64url.",
            "issuer": "Distinguished name, such as CN=Devices,O=Acme; with the serial number.",
            "serial": "Hexadecimal digits; with the issuer.",
            "reason": "Why, for other administrators.",
            "expirationTimestamp": "The entry counts until then; without it, until it is removed.",
        },
    ),
    parse=lambda given: parse_denied_certificate(given.content, given.now),
    check=_require_may_deny,
)

PROTECTED_SITES: Final[ResourceKind[AnySite]] = ResourceKind(
    title="Site",
    plural="sites",
    path="guard/sites",
    tag="Protected Sites",
    representation="SiteRepresentation",
    fields=SITE_FIELDS,
    stored=StoredKind(Site, table="sites"),
    key="name",
    placeholder="site",
    summaries=Summaries(
        list="List the protected sites of the realm",
        create="Create a protected site",
        get="Get a protected site",
        replace="Replace a protected site",
        delete="Delete a protected site; requests for its hosts are refused then",
    ),
    view=VIEW_REALM,
    manage=_MANAGE_REALM,
    most=MOST_SITES,
    taken="Site {key} already exists",
    versioned=True,
    largest=_LARGEST_SITE,
    event_fields=False,
    page=Page(
        room="Protected sites",
        columns=("name", "hosts", "client"),
        form=(
            ("name", "hosts", "client", "cookieDomain"),
            ("audience", "bearerAudience", "forwardAuthorization"),
            ("rules",),
        ),
        labels={"bearerAudience": "Audience of bearer tokens"},
        help={
            "hosts": "With the port where it is not 443; *.example.org is every host below.",
            "client": "Client ID for sign-in of browsers.",
            "rules": "The first rule that matches decides.",
        },
    ),
    file=FileMember(
        "guardSites",
        parse=parse_realm_sites,
        resolve=resolve_file_site,
        render=lambda site, _: render_site(site),
        keeps=lambda site: isinstance(site, Site),
    ),
    parse=parse_resource,
    render=render_site,
    check=require_usable_client,
    repository=StoredSites,
)

AUTHORITIES: Final = ResourceKind(
    title="Authority",
    plural="authorities",
    path="certificates/authorities",
    tag="Certificate Authorities",
    representation="CertificateAuthorityRepresentation",
    fields=AUTHORITY_FIELDS,
    stored=STORED_AUTHORITIES,
    key="sha256",
    placeholder="sha256",
    summaries=Summaries(
        list="List the certificate authorities of the realm",
        create="Register a certificate authority for the realm",
        get="Get a certificate authority of the realm",
        delete="Remove a certificate authority of the realm; its certificates are not trusted then",
    ),
    view=VIEW_REALM,
    manage=_MANAGE_REALM,
    most=MOST_AUTHORITIES,
    most_hint=", its clients included",
    taken="Authority {key} already exists",
    event_fields=False,
    page=Page(
        room="Certificates",
        columns=("sha256", "kind", "notAfter", "subject"),
        form=(("kind",), ("certificate",)),
        labels={"sha256": "SHA-256", "notAfter": "Valid until"},
        help={
            "kind": "Without it, a self-signed certificate is an anchor, others intermediates.",
            "certificate": "The certificate of the authority in PEM.",
        },
    ),
    file=FileMember(
        "certificateAuthorities",
        parse=lambda value, path, _: parse_authorities(value, path),
        render=render_file_authority,
    ),
    identity=authority_id,
    owner_column="client",
)
CLIENT_AUTHORITIES: Final = replace(
    AUTHORITIES,
    path="clients/{owner}/certificates/authorities",
    summaries=Summaries(
        list="List the certificate authorities of a client",
        create="Register a certificate authority for a client",
        get="Get a certificate authority of a client",
        delete="Remove a certificate authority of a client; its certificates are not trusted then",
    ),
    view=VIEW_CLIENTS,
    manage=MANAGE_CLIENTS,
    owner=OwningClients(),
    file=None,
)


_CERTIFICATES: Final = (DENIED_CERTIFICATES, AUTHORITIES, CLIENT_AUTHORITIES)
RESOURCE_KINDS: Final[tuple[ResourceKind[Any], ...]] = (PROTECTED_SITES, *_CERTIFICATES)


def resource_kinds(parser: AuthorityParser) -> tuple[ResourceKind[Any], ...]:
    """Return every kind; `parser` is that of the certificates of authorities."""
    return tuple(
        with_parser(kind, parser) if kind.stored is STORED_AUTHORITIES else kind
        for kind in RESOURCE_KINDS
    )
