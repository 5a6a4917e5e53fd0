"""The kinds of small resources, each by its declaration, and their table.

An entry of a deny list counts at every gateway within one second; the list of the realm master
counts in every realm.
"""

from dataclasses import replace
from typing import Any, Final

from gateway.admin.access import AdminRole, require_rights_over_every_realm
from gateway.admin.authorities import (
    OwningClients,
    render_file_authority,
    with_parser,
)
from gateway.admin.changes import Change
from gateway.admin.clients import MANAGE_CLIENTS, VIEW_CLIENTS
from gateway.admin.protected_sites import (
    AnySite,
    StoredSites,
    parse_resource,
    require_usable_client,
    resolve_file_site,
)
from gateway.admin.realms import VIEW_REALM
from gateway.admin.resources import FileMember, Page, ResourceKind, Summaries
from gateway.domain.certificates import (
    MOST_AUTHORITIES,
    MOST_DENIED,
    STORED_AUTHORITIES,
    STORED_DENIED_CERTIFICATES,
    DeniedCertificate,
    authority_id,
)
from gateway.domain.forward_auth import Site
from gateway.domain.ports.certificates import AuthorityParser
from gateway.domain.ports.invalidation import deny_list_topic
from gateway.domain.resources import StoredKind
from gateway.representations.certificates import (
    AUTHORITY_FIELDS,
    DENIED_CERTIFICATE,
    DENIED_CERTIFICATE_FIELDS,
    parse_authorities,
    parse_denied_certificate,
)
from gateway.representations.sites import MOST_SITES, SITE_FIELDS, parse_realm_sites, render_site

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
