"""Realms and users as they are committed now, and the refusal of those that must not pass.

Changes of other gateways arrive by message and by the log of changes. The log is read at most
`CHANGES_AGE` before an answer, so a lost message delays no refusal for longer.
"""

from datetime import datetime, timedelta
from typing import Final

from gateway.authentication.validity import NoLongerValid, Validity, require_enabled_realm
from gateway.certificates import CertificateTrust
from gateway.domain.certificates import ClientCertificate
from gateway.domain.clock import Clock
from gateway.domain.forward_auth import Reason
from gateway.domain.limits.single_flight import SingleFlight
from gateway.domain.ports.directory import Directory, RealmEntry
from gateway.domain.ports.lookups import CurrentRevocations
from gateway.domain.realm import Realm
from gateway.forward_auth.evidence import Evidence
from gateway.forward_auth.refusal import CredentialRefused
from gateway.protocol.realm_checks import transport_is_sufficient

CHANGES_AGE: Final = timedelta(milliseconds=200)


class LiveAccounts:
    """Finds what credentials name, without what was changed meanwhile."""

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
        """Return the caller's certificate with what it may be used for in the realm.

        With the internal id of a client: for the authentication of that client.
        """
        presented = evidence.certificate
        if presented is None:
            return None
        return await self._certificates.evaluate(presented, realm, self.clock.now(), client=client)

    async def _catch_up(self, realm_id: str) -> bool:
        """Read the log of changes, unless it was read just now; tell whether it was read."""
        now, current_at = self.clock.now(), self._current_at
        if current_at is not None and current_at <= now < current_at + CHANGES_AGE:
            return False
        await self._catching_up.run("", lambda: self._read_changes(realm_id, now))
        return True

    async def _read_changes(self, realm_id: str, now: datetime) -> None:
        await self.revocations.catch_up(realm_id)
        self._current_at = now
