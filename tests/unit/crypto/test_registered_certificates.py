"""Certificates and keys that a client has registered, by value and at its URL. RFC 8705 §2.2."""

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from gateway.crypto.client_keys import CertificatesOfKeySets
from gateway.crypto.public_keys import self_signed
from gateway.crypto.x509.reader import X509CertificateParser
from gateway.domain.clients import Client, VerificationKeys
from gateway.domain.ports.client_keys import NoUsableKey
from gateway.domain.ports.outgoing import DocumentUnavailable

NOW = datetime(2026, 1, 1, tzinfo=UTC)
URL = "https://client.example/jwks"


def _certificate() -> x509.Certificate:
    key = ec.generate_private_key(ec.SECP256R1())
    return self_signed(key, "device", NOW, NOW + timedelta(days=1))


OWN, OTHER = _certificate(), _certificate()
LEAF = X509CertificateParser().parse_certificate(OWN.public_bytes(Encoding.DER))


def _base64(certificate: x509.Certificate) -> str:
    return base64.b64encode(certificate.public_bytes(Encoding.DER)).decode()


def _set(*certificates: x509.Certificate) -> str:
    return json.dumps({"keys": [{"kty": "EC", "x5c": [_base64(one)]} for one in certificates]})


class ServedKeySets:
    """RemoteDocuments with the answers of one URL in their order; the last one stays."""

    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)
        self.asked: list[timedelta | None] = []

    async def fetch(self, url: str, *, newest: timedelta | None = None) -> bytes:
        """Return the next answer; raises DocumentUnavailable where it is None."""
        assert url == URL
        self.asked.append(newest)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is None:
            raise DocumentUnavailable("not there")
        return answer.encode()


def _client(**keys: str | bool) -> Client:
    return replace(Client("id", "r", "c"), verification_keys=VerificationKeys(**keys))  # type: ignore[arg-type] # any field may be set


async def _holds(client: Client, documents: ServedKeySets | None = None) -> bool:
    return await CertificatesOfKeySets(documents or ServedKeySets(None)).holds(client, LEAF)


async def test_a_certificate_or_a_key_by_value_is_found() -> None:
    key = OWN.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    assert await _holds(_client(certificate=_base64(OWN)))
    assert await _holds(_client(public_key=key.decode()))
    assert await _holds(_client(key_set=_set(OTHER, OWN), uses_key_set=True))
    assert not await _holds(_client(certificate=_base64(OTHER)))
    assert not await _holds(_client(key_set=_set(OWN)))
    assert not await _holds(_client())


async def test_a_certificate_missing_from_the_key_set_causes_a_fetch() -> None:
    remote = _client(key_set_url=URL, uses_key_set_url=True)
    documents = ServedKeySets(_set(OTHER), _set(OTHER, OWN))
    assert await _holds(remote, documents)
    assert [newest is None for newest in documents.asked] == [True, False]
    assert not await _holds(remote, ServedKeySets(_set(OTHER)))


@pytest.mark.parametrize("answer", [None, "no JSON", "[]"])
async def test_a_key_set_that_cannot_be_read_is_no_certificate(answer: str | None) -> None:
    with pytest.raises(NoUsableKey):
        await _holds(_client(key_set_url=URL, uses_key_set_url=True), ServedKeySets(answer))


async def test_a_registered_certificate_that_cannot_be_read_is_none() -> None:
    with pytest.raises(NoUsableKey):
        await _holds(_client(certificate="no certificate"))
    broken = json.dumps({"keys": [{"x5c": ["?"]}, {"x5c": []}, {"kty": "EC"}, 7]})
    assert not await _holds(_client(key_set=broken, uses_key_set=True))
