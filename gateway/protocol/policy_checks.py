"""Client policies at the endpoints: what a request is judged by, and how a refusal is answered.

Every endpoint that has a client calls one of these functions once the client is known; it costs
nothing in a realm without policies. Keycloak: client policies (26.7)
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final
from weakref import WeakKeyDictionary

from gateway.client_policies import (
    AuthorizationRequested,
    AuthorizationStart,
    ClientPolicy,
    ClientRequest,
    EventKind,
    PolicyRefusal,
    SignInDemands,
    VerifiedCodeVerifier,
    apply_to_request,
    check_authorization,
    check_start,
    client_for_tokens,
    sign_in_demands,
)
from gateway.domain.clients import Client
from gateway.domain.events import Detail
from gateway.domain.ports.lookups import ClientEntry, RealmEntry
from gateway.domain.roles import EffectiveRoles
from gateway.protocol.client_authentication import AuthenticatedClient
from gateway.protocol.errors import EventFailure, OAuthError
from gateway.protocol.requests import ProtocolRequest
from gateway.representations.realms import policies_of

_POLICIES: Final[WeakKeyDictionary[RealmEntry, tuple[ClientPolicy, ...]]] = WeakKeyDictionary()


def realm_policies(realm: RealmEntry) -> tuple[ClientPolicy, ...]:
    """Return the enabled policies of the realm; they are read once for each state of it."""
    found = _POLICIES.get(realm)
    if found is None:
        found = _POLICIES[realm] = policies_of(realm.realm)
    return found


def check_caller(
    request: ProtocolRequest,
    caller: AuthenticatedClient,
    kind: EventKind,
    *,
    presented: Mapping[str, Any] | None = None,
    scopes: tuple[str, ...] | None = None,
    code_verifier: VerifiedCodeVerifier | None = None,
) -> ClientEntry:
    """Return an authenticated client as policies leave it; raises OAuthError.

    `presented` are verified claims of a token in the request, `scopes` those of the tokens.
    """
    if not realm_policies(request.realm):
        return caller.entry
    return _apply_policies(
        request,
        caller.entry,
        ClientRequest(
            kind,
            caller.entry.client,
            assertion=caller.assertion,
            certificate=caller.verified_certificate,
            code_verifier=code_verifier,
            presented=presented,
            scopes=None if scopes is None else frozenset(scopes),
        ),
    )


def check_client(
    request: ProtocolRequest,
    entry: ClientEntry,
    kind: EventKind,
    *,
    presented: Mapping[str, Any] | None = None,
    scopes: tuple[str, ...] | None = None,
    redirect_uri: str | None = None,
) -> ClientEntry:
    """Judge a request without client authentication; `redirect_uri` is that of a logout."""
    if not realm_policies(request.realm):
        return entry
    judged = ClientRequest(
        kind,
        entry.client,
        presented=presented,
        scopes=None if scopes is None else frozenset(scopes),
        authenticates=False,
        redirect_uri=redirect_uri,
    )
    return _apply_policies(request, entry, judged)


def client_of_claims(
    request: ProtocolRequest, entry: ClientEntry, scopes: tuple[str, ...]
) -> ClientEntry:
    """Return the client of a token as the claims of its user are read by another client now."""
    policies = realm_policies(request.realm)
    if not policies:
        return entry
    kind, own_roles = EventKind.USERINFO_REQUEST, entry.own_roles
    read = ClientRequest(
        kind, entry.client, scopes=frozenset(scopes), authenticates=False, own_roles=own_roles
    )
    return _with_client(entry, client_for_tokens(policies, read))


def _apply_policies(
    request: ProtocolRequest, entry: ClientEntry, judged: ClientRequest
) -> ClientEntry:
    realm = request.realm.realm
    judged = replace(
        judged,
        issuer=request.issuer,
        base_url=request.issuer.rpartition("/realms/")[0],
        realm_algorithm=realm.signature_algorithm.value,
        own_roles=entry.own_roles,
    )
    with _refused_by_policies(request):
        client = apply_to_request(realm_policies(request.realm), judged)
    return _with_client(entry, client)


def _with_client(entry: ClientEntry, client: Client) -> ClientEntry:
    """Return the entry with the client as policies leave it, and the roles of its scopes."""
    if client == entry.client:
        return entry
    if client.full_scope_allowed or not entry.client.full_scope_allowed:
        return replace(entry, client=client)
    own = EffectiveRoles(clients=((client.client_id, tuple(sorted(entry.own_roles))),))
    return replace(entry, client=client, scope_roles=own)


def check_authorization_start(
    request: ProtocolRequest,
    entry: ClientEntry,
    redirect_uri: str | None,
    pushed: Mapping[str, str] | None,
) -> None:
    """Check an authorization request before its parameters are verified; raises OAuthError."""
    policies = realm_policies(request.realm)
    if policies:
        sent, roles = request.parameters.values, entry.own_roles
        start = AuthorizationStart(entry.client, sent, pushed, redirect_uri, roles)
        with _refused_by_policies(request):
            check_start(policies, start)


def check_authorization_request(
    request: ProtocolRequest, asked: AuthorizationRequested
) -> SignInDemands:
    """Return what the policies demand of the sign-in of a verified request; raises OAuthError."""
    with _refused_by_policies(request):
        return check_authorization(realm_policies(request.realm), asked)


def current_demands(request: ProtocolRequest, asked: AuthorizationRequested) -> SignInDemands:
    """Return what the policies demand of the sign-in of a request that they have accepted."""
    return sign_in_demands(realm_policies(request.realm), asked)


@contextmanager
def _refused_by_policies(request: ProtocolRequest) -> Iterator[None]:
    try:
        yield
    except PolicyRefusal as refusal:
        request.event.details |= {
            Detail.CLIENT_POLICY_ERROR: refusal.error,
            Detail.CLIENT_POLICY_ERROR_DETAIL: refusal.text,
        }
        failure = EventFailure(refusal.error, "client_policy_error")
        raise OAuthError(
            refusal.error, refusal.text, status=refusal.status, event=failure
        ) from refusal
