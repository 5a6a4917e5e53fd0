"""Client certificates without a token: the names of a certificate that a realm trusts.

Without a client in the rule the identity is the certificate itself: it has names and no roles. A
rule that names clients gets the service account of the client that the certificate's name is
registered for. Spec: RFC 8705 §2.1; attacks: A6 to A10
"""

from gateway.certificates import owns
from gateway.domain.certificates import ClientCertificate
from gateway.domain.forward_auth import Credential, Identity, Reason, Rule, Site
from gateway.domain.ports.directory import ClientEntry, RealmEntry, UserEntry
from gateway.forward_auth.credentials.rights import current_rights
from gateway.forward_auth.evidence import Evidence
from gateway.forward_auth.live_accounts import LiveAccounts
from gateway.forward_auth.refusal import CredentialRefused


class ClientCertificates:
    """Identifies the holder of a certificate."""

    def __init__(self, accounts: LiveAccounts) -> None:
        self._accounts = accounts

    async def identify(self, site: Site, rule: Rule, evidence: Evidence) -> Identity:
        """Return the identity in the first of the site's realms that trusts the certificate.

        Raises CredentialRefused or StoreUnavailable.
        """
        refusal = CredentialRefused(Reason.UNTRUSTED_CERTIFICATE, "no realm of the site exists")
        for name in site.realms:
            realm = await self._accounts.realm(name)
            if realm is None:
                continue
            try:
                self._accounts.require_open(realm.realm, evidence)
                return await self._identity(realm, rule, evidence)
            except CredentialRefused as error:
                refusal = error
        raise refusal

    async def _trusted(self, realm: RealmEntry, evidence: Evidence) -> ClientCertificate:
        certificate = await self._accounts.certificate(evidence, realm.realm)
        if certificate is None or not certificate.identifies:
            why = "there is none" if certificate is None else certificate.reason
            raise CredentialRefused(
                Reason.UNTRUSTED_CERTIFICATE,
                f"the realm {realm.realm.name} does not trust the certificate: {why}",
            )
        return certificate

    async def _identity(self, realm: RealmEntry, rule: Rule, evidence: Evidence) -> Identity:
        for client_id in rule.requirements.clients:
            entry = await self._accounts.directory.client(realm.realm.id, client_id)
            if entry is None:
                continue
            of_client = await self._accounts.certificate(
                evidence, realm.realm, client=entry.client.id
            )
            if of_client is not None and owns(entry.client, of_client):
                if await self._accounts.is_locked_device(realm.realm, entry.client, of_client):
                    reason = Reason.UNTRUSTED_CERTIFICATE
                    raise CredentialRefused(reason, "the device of the certificate is locked")
                return _client_identity(realm, entry, of_client)
        certificate = await self._trusted(realm, evidence)
        return Identity(
            realm=realm.realm.name,
            kind=Credential.CERTIFICATE,
            subject=certificate.leaf.subject.rfc4514(),
            username="",
            thumbprint=certificate.thumbprint,
            certificate=certificate,
        )


def _client_identity(
    realm: RealmEntry, entry: ClientEntry, certificate: ClientCertificate
) -> Identity:
    """Return the identity of the client's service account, without roles where it has none."""
    account, client = entry.service_account, entry.client
    active = account if account is not None and account.enabled else None
    if not client.service_accounts_enabled:
        active = None
    rights = None
    if active is not None:
        names = client.default_client_scopes
        rights = current_rights(realm, entry, UserEntry(active, entry.roles), names)
    return Identity(
        realm=realm.realm.name,
        kind=Credential.CERTIFICATE,
        subject=client.id if active is None else active.id,
        username="" if active is None else active.username,
        realm_roles=rights.realm_roles if rights else frozenset(),
        client_roles=rights.client_roles if rights else frozenset(),
        scopes=rights.scopes if rights else frozenset(),
        client_id=client.client_id,
        thumbprint=certificate.thumbprint,
        certificate=certificate,
    )
