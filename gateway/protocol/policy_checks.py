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
    EnforcedFlow,
    EventKind,
    PolicyRefusal,
    apply_to_request,
    check_authorization,
    check_start,
)
from gateway.domain.events import Detail
from gateway.domain.ports.client_signatures import SignedClaims
from gateway.domain.ports.directory import ClientEntry, RealmEntry
from gateway.protocol.errors import EventFailure, OAuthError
from gateway.protocol.requests import ProtocolRequest
from gateway.representations.realms import policies_of

_REASON: Final = "client_policy_error"
_POLICIES: Final[WeakKeyDictionary[RealmEntry, tuple[ClientPolicy, ...]]] = WeakKeyDictionary()


def realm_policies(realm: RealmEntry) -> tuple[ClientPolicy, ...]:
    """Return the enabled policies of the realm; they are read once for each state of it."""
    found = _POLICIES.get(realm)
    if found is None:
        found = _POLICIES[realm] = policies_of(realm.realm)
    return found


def check_client_request(
    request: ProtocolRequest,
    entry: ClientEntry,
    kind: EventKind,
    *,
    assertion: SignedClaims | None = None,
    presented: Mapping[str, Any] | None = None,
    scopes: tuple[str, ...] | None = None,
    authenticates: bool = True,
) -> ClientEntry:
    """Return the client as tokens are to be issued to it; raises OAuthError.

    `assertion` is what authenticated the client, `presented` the claims of the token in the
    request, `scopes` what the tokens would have. `authenticates` is false at an endpoint where
    clients do not.
    """
    policies = realm_policies(request.realm)
    if not policies:
        return entry
    judged = ClientRequest(
        kind,
        entry.client,
        request.issuer,
        request.certificate,
        has_verifier=request.parameters.raw("code_verifier") is not None,
        assertion=assertion,
        sends_assertion=bool(request.parameters.raw("client_assertion")),
        presented=presented,
        scopes=None if scopes is None else frozenset(scopes),
        authenticates=authenticates,
        own_roles=entry.own_roles,
    )
    with _refused_by_policies(request):
        client = apply_to_request(policies, judged)
    return entry if client == entry.client else replace(entry, client=client)


def check_authorization_start(
    request: ProtocolRequest,
    entry: ClientEntry,
    redirect_uri: str | None,
    pushed: Mapping[str, str] | None,
) -> None:
    """Check an authorization request before its parameters are verified; raises OAuthError."""
    policies = realm_policies(request.realm)
    if policies:
        start = AuthorizationStart(entry.client, request.parameters.values, pushed, redirect_uri)
        with _refused_by_policies(request):
            check_start(policies, start)


def check_authorization_request(
    request: ProtocolRequest, asked: AuthorizationRequested
) -> EnforcedFlow | None:
    """Return the flow that the policies choose for a verified request; raises OAuthError."""
    with _refused_by_policies(request):
        return check_authorization(realm_policies(request.realm), asked)


@contextmanager
def _refused_by_policies(request: ProtocolRequest) -> Iterator[None]:
    try:
        yield
    except PolicyRefusal as refusal:
        request.event.details |= {
            Detail.CLIENT_POLICY_ERROR: refusal.error,
            Detail.CLIENT_POLICY_ERROR_DETAIL: refusal.text,
        }
        failure = EventFailure(refusal.error, _REASON)
        raise OAuthError(
            refusal.error, refusal.text, status=refusal.status, event=failure
        ) from refusal
