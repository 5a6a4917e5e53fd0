"""Certificates on the way from their encoding to what they may be used for, without HTTP."""

import asyncio

from gateway.certificates import GlobalAuthorities
from gateway.crypto.revocation.revocation_lists import RevocationLists
from gateway.crypto.x509.authorities import AuthorityBundle
from gateway.crypto.x509.reader import X509Authorities, X509CertificateParser
from gateway.domain.certificates import CertificateEvidence, ClientCertificate, ProxyVerdict
from gateway.domain.clock import Clock
from gateway.domain.realm import Realm

REALM = Realm(id="r", name="r")


class EvaluatedCertificates:
    """The rule of the settings, over a bundle of authorities and, where given, their lists."""

    def __init__(
        self, bundle: AuthorityBundle, revocation: RevocationLists | None, clock: Clock
    ) -> None:
        self.parser = X509CertificateParser()
        self.rule = GlobalAuthorities(X509Authorities(bundle, self.parser), revocation)
        self._clock = clock

    def read(self, der: bytes, *, verified_by_proxy: bool) -> ClientCertificate:
        """Return the certificate with its standing now; raises MalformedCertificate."""
        verdict = ProxyVerdict.VERIFIED if verified_by_proxy else ProxyVerdict.FAILED
        evidence = CertificateEvidence(self.parser.parse(der), verdict, "nginx")
        return asyncio.run(self.rule.evaluate(evidence, REALM, self._clock.now()))
