"""Client certificates at protected sites, without a token."""

from dataclasses import replace
from typing import Final

from gateway.authentication.validity import NoLongerValid, is_usable_in, usable_service_account
from gateway.certificates import has_registered_name, is_registered_for, owns
from gateway.domain.certificates import ClientCertificate, PresentedCertificate
from gateway.domain.clients import Client, terms_of_certificate
from gateway.domain.forward_auth import AcceptedCredential, AssertedIdentity, Reason, Rule, Site
from gateway.domain.ports.lookups import CertificateOwnerIndex, ClientEntry, RealmEntry, UserEntry
from gateway.forward_auth.callers import CredentialRefused, Evidence, LiveAccounts, current_rights

_MOST_OWNERS: Final = 1000
"""Clients whose registered names are compared with those of one certificate."""


class _OwnersRefused(CredentialRefused):
    """The certificate is not used, whichever realms of the site trust it."""

    def __init__(self, explanation: str) -> None:
        super().__init__(Reason.UNTRUSTED_CERTIFICATE, explanation)


class CertificateHolders:
    """Identifies the holder of a certificate.

    Without a client in the rule the identity is the certificate, with names and no roles; else the
    service account of its client. Every rule refuses a locked device, and a certificate whose
    clients are all disabled. Spec: RFC 8705 §2.1; attacks: A6 to A10
    """

    def __init__(self, accounts: LiveAccounts, index: CertificateOwnerIndex) -> None:
        self._accounts = accounts
        self._index = index

    async def identify(self, site: Site, rule: Rule, evidence: Evidence) -> AssertedIdentity:
        """Return the identity in the first realm that trusts it; raises CredentialRefused."""
        refusal = CredentialRefused(Reason.UNTRUSTED_CERTIFICATE, "no realm of the site exists")
        for name in site.realms:
            realm = await self._accounts.realm(name)
            if realm is None:
                continue
            try:
                self._accounts.require_open(realm.realm, evidence)
                identity = await self._identity(realm, rule, evidence)
            except _OwnersRefused:
                raise
            except CredentialRefused as error:
                refusal = error
                continue
            # A client of the rule is usable; the device may be locked for another client.
            await self._require_usable_owners(site, evidence, named=identity.client_id is not None)
            return identity
        raise refusal

    async def without_refused(
        self, site: Site, evidence: Evidence, identity: AssertedIdentity
    ) -> AssertedIdentity:
        """Drop a refused certificate from the identity of a user; raises StoreUnavailable."""
        if identity.certificate is None:
            return identity
        try:
            await self._require_usable_owners(site, evidence)
        except _OwnersRefused:
            return replace(identity, certificate=None)
        return identity

    async def _trusted(self, realm: RealmEntry, evidence: Evidence) -> ClientCertificate:
        certificate = await self._accounts.certificate(evidence, realm.realm)
        if certificate is None or not certificate.identifies:
            why = "there is none" if certificate is None else certificate.reason
            raise CredentialRefused(
                Reason.UNTRUSTED_CERTIFICATE,
                f"the realm {realm.realm.name} does not trust the certificate: {why}",
            )
        return certificate

    async def _identity(
        self, realm: RealmEntry, rule: Rule, evidence: Evidence
    ) -> AssertedIdentity:
        for client_id in rule.requirements.clients:
            entry = await self._accounts.directory.client(realm.realm.id, client_id)
            if entry is None:
                continue
            of_client = await self._accounts.certificate(
                evidence, realm.realm, client=entry.client.id
            )
            if of_client is not None and owns(entry.client, of_client):
                return _client_identity(realm, entry, of_client)
        certificate = await self._trusted(realm, evidence)
        return AssertedIdentity(
            realm=realm.realm.name,
            kind=AcceptedCredential.CERTIFICATE,
            subject=certificate.leaf.subject.rfc4514(),
            username="",
            thumbprint=certificate.thumbprint,
            certificate=certificate,
        )

    async def _require_usable_owners(
        self, site: Site, evidence: Evidence, *, named: bool = False
    ) -> None:
        """Refuse the certificate of a locked device, and one whose clients are all disabled.

        The clients of all realms of the site count, except those with subject patterns. `named`:
        the rule names an enabled client of the certificate.
        """
        owned, usable = False, False
        for name in site.realms:
            realm = await self._accounts.realm(name)
            if realm is None:
                continue
            for entry in await self._owners(realm, evidence):
                owned = True
                usable = usable or is_usable_in(realm.realm, entry)
        if owned and not (usable or named):
            raise _OwnersRefused("the client of the certificate is disabled")

    async def _owners(self, realm: RealmEntry, evidence: Evidence) -> list[ClientEntry]:
        presented = evidence.certificate
        if presented is None:
            return []
        terms = terms_of_certificate(presented.leaf)
        if not terms:
            raise _OwnersRefused("the certificate has too many names to look for its clients")
        names = await self._index.with_terms(realm.realm.id, terms, _MOST_OWNERS + 1)
        if len(names) > _MOST_OWNERS:
            raise _OwnersRefused(f"more than {_MOST_OWNERS} clients may own the certificate")
        owners = []
        for name in names:
            entry = await self._accounts.directory.client(realm.realm.id, name)
            if entry is None or not _may_own(entry.client, presented.leaf):
                continue
            of_client = await self._accounts.certificate(
                evidence, realm.realm, client=entry.client.id
            )
            if of_client is None or not of_client.identifies:
                continue
            await self._require_unlocked(realm, entry.client, of_client)
            if is_registered_for(entry.client, of_client):
                owners.append(entry)
        found = [each.client.client_id for each in owners]
        counted = await self._index.without_registered(realm.realm.id, found)
        return [each for each in owners if each.client.client_id in counted]

    async def _require_unlocked(
        self, realm: RealmEntry, client: Client, certificate: ClientCertificate
    ) -> None:
        """Refuse a certificate that names a locked device, also beside another device."""
        validity, now = self._accounts.validity, self._accounts.clock.now()
        for device in client.devices.named_in(certificate.leaf):
            try:
                await validity.require_unlocked(realm.realm, client, device.name, now)
            except NoLongerValid as refusal:
                raise _OwnersRefused("the device of the certificate is locked") from refusal


def _may_own(client: Client, leaf: PresentedCertificate) -> bool:
    """Return whether the certificate has the client's name, or those of several devices."""
    return has_registered_name(client, leaf) or bool(client.devices.named_in(leaf))


def _client_identity(
    realm: RealmEntry, entry: ClientEntry, certificate: ClientCertificate
) -> AssertedIdentity:
    """Return the identity of the service account, or of `client:<id>` without roles."""
    client = entry.client
    active = usable_service_account(entry)
    rights = None
    if active is not None:
        names = client.default_client_scopes
        rights = current_rights(realm, entry, UserEntry(active, entry.roles), names)
    return AssertedIdentity(
        realm=realm.realm.name,
        kind=AcceptedCredential.CERTIFICATE,
        subject=f"client:{client.id}" if active is None else active.id,
        username="" if active is None else active.username,
        realm_roles=rights.realm_roles if rights else frozenset(),
        client_roles=rights.client_roles if rights else frozenset(),
        scopes=rights.scopes if rights else frozenset(),
        client_id=client.client_id,
        thumbprint=certificate.thumbprint,
        certificate=certificate,
    )
