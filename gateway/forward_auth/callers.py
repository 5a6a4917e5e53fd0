"""The caller of a protected site, as committed now. Keycloak: 2.1 (roles of a client's token)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from gateway.authentication.validity import NoLongerValid, Validity, require_enabled_realm
from gateway.certificates import CertificateTrust
from gateway.domain.certificates import CertificateEvidence, ClientCertificate
from gateway.domain.clock import Clock
from gateway.domain.forward_auth import AcceptedCredential, AssertedIdentity, ProofChallenge, Reason
from gateway.domain.limits.caches import SingleFlight
from gateway.domain.ports.client_keys import NO_PROOF, SentProof
from gateway.domain.ports.lookups import (
    ClientEntry,
    CurrentRevocations,
    Directory,
    RealmEntry,
    UserEntry,
)
from gateway.domain.realm import Realm
from gateway.domain.roles import render_client_role
from gateway.protocol.requests import transport_is_sufficient
from gateway.protocol.scopes import carried_roles, still_granted


@dataclass(frozen=True, slots=True)
class Evidence:
    """The credentials of one request; `secure` is TLS between caller and proxy."""

    remote_address: str
    secure: bool
    authorization: str | None = field(default=None, repr=False)
    session_cookies: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    certificate: CertificateEvidence | None = None
    proof: SentProof = NO_PROOF
    """The DPoP header, for the request to the site."""
    unremovable: tuple[str, ...] = ()
    """Names of headers by which a service could know its caller, see `caller_headers`."""


class CredentialRefused(Exception):
    """The credential must not be used; `str()` is the explanation, free of secrets."""

    def __init__(
        self, reason: Reason, explanation: str, *, proof: ProofChallenge | None = None
    ) -> None:
        """Take `proof`, the text for the caller where a DPoP proof is missing or wrong."""
        super().__init__(explanation)
        self.reason = reason
        self.proof = proof


CHANGES_AGE: Final = timedelta(milliseconds=200)


class LiveAccounts:
    """Finds accounts of credentials as they are now.

    Changes of other gateways arrive by message and by the log of changes, which is read at most
    `CHANGES_AGE` before an answer, in case a message was lost.
    """

    def __init__(
        self,
        directory: Directory,
        revocations: CurrentRevocations,
        validity: Validity,
        certificates: CertificateTrust,
        clock: Clock,
    ) -> None:
        self.directory = directory
        self.revocations = revocations
        self.validity = validity
        self.clock = clock
        self._certificates = certificates
        self._current_at: datetime | None = None
        self._catching_up: SingleFlight[str, None] = SingleFlight()

    async def realm(self, name: str) -> RealmEntry | None:
        """Return the realm as of at most `CHANGES_AGE` ago; raises StoreUnavailable."""
        entry = await self.directory.realm(name)
        if entry is None:
            return None
        if await self._catch_up(entry.realm.id):
            return await self.directory.realm(name)
        return entry

    def require_open(self, realm: Realm, evidence: Evidence) -> None:
        """Raise CredentialRefused where the realm accepts no credential in this request."""
        try:
            require_enabled_realm(realm)
        except NoLongerValid as refusal:
            reason = Reason.REALM_NOT_ALLOWED
            raise CredentialRefused(reason, f"the realm {realm.name} is disabled") from refusal
        if not transport_is_sufficient(
            realm.ssl_required, evidence.remote_address, secure=evidence.secure
        ):
            reason = Reason.HTTPS_REQUIRED
            raise CredentialRefused(reason, f"the realm {realm.name} requires HTTPS")

    async def certificate(
        self, evidence: Evidence, realm: Realm, *, client: str | None = None
    ) -> ClientCertificate | None:
        """Return the caller's certificate as it counts in the realm, or for a `client`."""
        presented = evidence.certificate
        if presented is None:
            return None
        return await self._certificates.evaluate(presented, realm, self.clock.now(), client=client)

    async def _catch_up(self, realm_id: str) -> bool:
        """Read the log of changes, unless it was read just now, and return whether it was."""
        now, current_at = self.clock.now(), self._current_at
        if current_at is not None and current_at <= now < current_at + CHANGES_AGE:
            return False
        await self._catching_up.run("", lambda: self._read_changes(realm_id, now))
        return True

    async def _read_changes(self, realm_id: str, now: datetime) -> None:
        await self.revocations.catch_up(realm_id)
        self._current_at = now


@dataclass(frozen=True, slots=True)
class CallerRights:
    """Realm roles by name, client roles as `render_client_role` writes them, and scopes."""

    realm_roles: frozenset[str]
    client_roles: frozenset[str]
    scopes: frozenset[str]

    def within_token(self, claims: Mapping[str, Any]) -> "CallerRights":
        """Return those roles that a token's claims contain too."""
        return CallerRights(
            self.realm_roles.intersection(_names(claims.get("realm_access"))),
            self.client_roles.intersection(_client_roles(claims.get("resource_access"))),
            self.scopes,
        )


def current_rights(
    realm: RealmEntry, client: ClientEntry, user: UserEntry, scopes: Iterable[str]
) -> CallerRights:
    """Return present rights of the user for client and scopes. Keycloak: 2.1 headers and keys."""
    names = frozenset(scopes)
    granted = still_granted(realm, client.client, names).permitted_to(user.roles)
    roles = carried_roles(client, user, granted)
    return CallerRights(
        frozenset(roles.realm),
        frozenset(
            render_client_role(owner, name) for owner, owned in roles.clients for name in owned
        ),
        names.intersection(granted.names),
    )


def _names(access: Any) -> frozenset[str]:
    roles = access.get("roles") if isinstance(access, dict) else None
    return frozenset(map(str, roles)) if isinstance(roles, list) else frozenset()


def _client_roles(access: Any) -> frozenset[str]:
    owners = access.items() if isinstance(access, dict) else ()
    return frozenset(
        render_client_role(str(owner), name) for owner, roles in owners for name in _names(roles)
    )


def user_identity(
    kind: AcceptedCredential,
    realm: RealmEntry,
    client: ClientEntry,
    user: UserEntry,
    rights: CallerRights,
    *,
    session_id: str | None,
    certificate: ClientCertificate | None,
    thumbprint: str | None = None,
    proof_key: str | None = None,
    audiences: frozenset[str] = frozenset(),
) -> AssertedIdentity:
    """Return the identity; `thumbprint`, `proof_key` and `audiences` are those of a token."""
    return AssertedIdentity(
        realm=realm.realm.name,
        kind=kind,
        subject=user.user.id,
        username=user.user.username,
        email=user.user.email,
        email_verified=user.user.email_verified,
        groups=user.groups,
        realm_roles=rights.realm_roles,
        client_roles=rights.client_roles,
        client_id=client.client.client_id,
        scopes=rights.scopes,
        thumbprint=thumbprint,
        proof_key=proof_key,
        audiences=audiences,
        session_id=session_id,
        certificate=certificate if certificate is not None and certificate.identifies else None,
    )
