"""The comparison of a subject with the registered one is remembered for one certificate alone."""

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from gateway.certificates import NotRegistered, require_registered
from gateway.crypto.x509.reader import X509CertificateParser
from gateway.domain.certificates import (
    CertificateEvidence,
    ClientCertificate,
    ProxyVerdict,
    TrustLevel,
)
from gateway.domain.clients import with_attributes
from tests.support.chains import issue
from tests.support.stored_values import client


def _trusted(name: str | x509.Name) -> ClientCertificate:
    leaf = X509CertificateParser().parse_certificate(issue(name, None).der)
    evidence = CertificateEvidence(leaf, ProxyVerdict.VERIFIED, "nginx")
    return ClientCertificate(evidence, TrustLevel.TRUSTED)


@pytest.mark.parametrize("pattern", ["false", "true"])
def test_each_certificate_is_compared_with_each_clients_name(pattern: str) -> None:
    """Attack A15: what one certificate or client was found to be says nothing of another."""
    one, other = (
        with_attributes(
            client(name),
            {"x509.subjectdn": f"CN={name}", "x509.allow.regex.pattern.comparison": pattern},
        )
        for name in ("one", "other")
    )
    certificates = {"one": _trusted("one"), "other": _trusted("other")}
    for _ in range(2):
        require_registered(one, certificates["one"])
        require_registered(other, certificates["other"])
        for owner, name in ((one, "other"), (other, "one")):
            with pytest.raises(NotRegistered, match="is not the one registered"):
                require_registered(owner, certificates[name])


def test_a_name_that_becomes_an_expression_is_compared_again() -> None:
    """And the other way round: the same text says something else."""
    name, expression = (
        with_attributes(
            client("one"),
            {"x509.subjectdn": "CN=o.e", "x509.allow.regex.pattern.comparison": pattern},
        )
        for pattern in ("false", "true")
    )
    plain, dotted = _trusted("one"), _trusted("o.e")
    for _ in range(2):
        require_registered(expression, plain)
        with pytest.raises(NotRegistered, match="is not the one registered"):
            require_registered(name, plain)
        require_registered(name, dotted)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("false", "compared as a name: O=Acme,CN=press-7"),
        ("true", "compared with an expression: O=Acme, CN=press-7"),
    ],
)
def test_the_reason_has_the_subject_as_it_is_to_be_registered(pattern: str, text: str) -> None:
    """An administrator can copy it: the order of openssl's -subj is the other one."""
    order = {"x509.subjectdn": "CN=press-7,O=Acme"}
    comparison = {"x509.allow.regex.pattern.comparison": pattern}
    registered = with_attributes(client("press"), order | comparison)
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.COMMON_NAME, "press-7"),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Acme"),
        ]
    )
    with pytest.raises(NotRegistered, match="is not the one registered") as refused:
        require_registered(registered, _trusted(name))
    assert str(refused.value).endswith(f", {text}")
    subject = {"x509.subjectdn": text.partition(": ")[2]}
    copied = with_attributes(registered, subject | comparison)
    require_registered(copied, _trusted(name))
