"""Authorization requests as plain values, for tests of single checks."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, cast

from gateway.crypto.client_signatures import RegisteredClientSignatures
from gateway.domain.clients import Client
from gateway.domain.keys import SecretAlgorithm, SignatureAlgorithm
from gateway.domain.ports.lookups import ClientEntry, Directory, RealmEntry
from gateway.domain.ports.outgoing import NoRemoteDocuments
from gateway.domain.ports.sign_in import PushedRequestStore
from gateway.domain.realm import Realm
from gateway.domain.roles import EffectiveRoles
from gateway.protocol.authorization import AuthorizationRequest, CheckServices
from gateway.protocol.authorization.checks import CHECKS, Check
from gateway.protocol.authorization.endpoints import run_checks
from gateway.protocol.authorization.request import AuthorizationDraft
from gateway.protocol.requests import Parameters, ProtocolRequest
from gateway.representations.clients import parse_client
from tests.support.signing_keys import shared_key_factory

NOW: Final = datetime(2026, 11, 22, tzinfo=UTC)
ISSUER: Final = "https://gateway.test/realms/demo"
URI: Final = "https://app.example/cb"
SECRET: Final = "0123456789abcdef" * 4
GOOD: Final = {
    "client_id": "app",
    "redirect_uri": URI,
    "response_type": "code",
    "scope": "openid",
    "state": "s",
}
SERVICES: Final = CheckServices(
    directory=cast("Directory", None),
    pushed_requests=cast("PushedRequestStore", None),
    signatures=RegisteredClientSignatures(NoRemoteDocuments()),
    documents=NoRemoteDocuments(),
)
"""What needs a store is tested over HTTP."""


@cache
def realm_entry() -> RealmEntry:
    """Return a realm with keys of three kinds."""
    realm = Realm(id="demo", name="demo", attributes={"acr.loa.map": '{"silver":1,"gold":2}'})
    factory = shared_key_factory()
    algorithms = (SignatureAlgorithm.RS256, SignatureAlgorithm.ES256, SecretAlgorithm.HS512)
    keys = tuple(factory.generate("demo", "demo", each, NOW) for each in algorithms)
    return RealmEntry(realm, factory.ring(keys))


def client_entry(attributes: Mapping[str, str] | None = None, **fields: Any) -> ClientEntry:
    """Return a client as the admin API would make it, changed by `fields`."""
    document = {
        "clientId": "app",
        "redirectUris": [URI],
        "implicitFlowEnabled": True,
        "secret": SECRET,
        "attributes": dict(attributes or {}),
    } | fields
    client: Client = parse_client(document, "demo", report_ineffective=True)
    return ClientEntry(client, None, EffectiveRoles())


def draft(
    entry: ClientEntry | None = None,
    changed: Mapping[str, str | None] | None = None,
    *,
    repeated: Iterable[str] = (),
    is_push: bool = False,
) -> AuthorizationDraft:
    """Return a good request with some parameters changed, those that are None left out."""
    values = {name: text for name, text in (GOOD | dict(changed or {})).items() if text is not None}
    request = ProtocolRequest(
        *(realm_entry(), ISSUER, Parameters(values, frozenset(repeated)), None, None, "192.0.2.1"),
        secure=True,
        now=NOW,
    )
    return AuthorizationDraft(
        request, SERVICES, values, is_push=is_push, entry=entry or client_entry()
    )


async def checked(
    entry: ClientEntry | None = None,
    changed: Mapping[str, str | None] | None = None,
    *,
    checks: Mapping[str, Check] = CHECKS,
    **options: Any,
) -> AuthorizationRequest:
    """Run the checks on such a request; raises OAuthError."""
    each = draft(entry, changed, **options)
    await run_checks(each, checks)
    return each.finished()
