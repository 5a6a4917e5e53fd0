"""Certificates on the way from their encoding to what they may be used for, without HTTP."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from gateway.certificates import AnchoredTrust, RegisteredAuthoritySelection
from gateway.crypto.revocation.revocation_decision import RevocationLists
from gateway.crypto.x509.authorities import AuthorityBundle
from gateway.crypto.x509.reader import X509AuthorityFactory, X509CertificateParser
from gateway.domain.certificates import (
    Authority,
    CertificateEvidence,
    ClientCertificate,
    ProxyVerdict,
    RegisteredAuthorities,
)
from gateway.domain.clock import Clock
from gateway.domain.realm import Realm

REALM = Realm(id="r", name="r")


class Registered:
    """The authorities that a test registers, of every realm."""

    def __init__(self, authorities: Sequence[Authority] = ()) -> None:
        self.replace(*authorities)

    def replace(self, *authorities: Authority) -> None:
        """Register these in place of all others."""
        self._registered = RegisteredAuthorities.of(authorities)

    async def registered(self, realm_id: str) -> RegisteredAuthorities:
        """Return them for any realm."""
        assert realm_id
        return self._registered


class EvaluatedCertificates:
    """The rule of trust, over a bundle, revocation lists and registered authorities."""

    def __init__(
        self,
        bundle: AuthorityBundle,
        revocation: RevocationLists | None,
        clock: Clock,
        *registered: Authority,
    ) -> None:
        self.parser = X509CertificateParser()
        self.registered = Registered(registered)
        factory = X509AuthorityFactory(bundle, self.parser)
        selection = RegisteredAuthoritySelection(self.registered, factory)
        self.rule = AnchoredTrust(selection, revocation)
        self._clock = clock

    def read(
        self,
        der: bytes,
        *,
        verified_by_proxy: bool,
        chain: Sequence[bytes] = (),
        client: str | None = None,
        **attributes: str,
    ) -> ClientCertificate:
        """Return the certificate with its standing now; raises MalformedCertificate.

        `attributes` are those of the realm.
        """
        verdict = ProxyVerdict.VERIFIED if verified_by_proxy else ProxyVerdict.FAILED
        evidence = CertificateEvidence(
            self.parser.parse_certificate(der), verdict, "nginx", chain=tuple(chain)
        )
        realm = replace(REALM, attributes=attributes)
        return asyncio.run(self.rule.evaluate(evidence, realm, self._clock.now(), client=client))

    @property
    def remembered_bytes(self) -> int:
        """About the memory that certificates and results take."""
        return self.parser.remembered_bytes + self.rule.remembered_bytes
