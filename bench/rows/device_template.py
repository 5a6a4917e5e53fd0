"""What a token costs for one device of a template, and for each of thousands."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from itertools import cycle, islice
from typing import Final
from urllib.parse import quote, urlencode

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.gateway_socket import GatewaySocket
from bench.processes import BenchError
from bench.stack import Site, Stack, client_document, import_realms, stack
from gateway.crypto.x509.development_pki import ISSUING, read_authority

TITLE = "10,000 devices under one template"
HOW = (
    "Token requests on the gateway's socket with the certificates of one device and of 10,000, each"
    " in its turn, for a client with a template and for one with an expression of subjects, in"
    " alternating rounds. Before that each device has asked for one token of each client, the first"
    " of which is a figure of its own: its certificate was parsed and its path verified. The worker"
    " remembers both for the 10,000. The template also asks Redis for a lock. Without a client_id"
    " the client is found by the certificate alone."
)
_REALM: Final = "fleet"
_DEVICES: Final = 10_000
_REQUESTS: Final = 3_000
_TEMPLATE: Final = "spiffe://{trust_domain}/edge/{site}/{device}"


def measure(bench: Bench) -> Result:
    """Measure the gateway's processor time of a token in each case."""
    site = bench.copy("fleet")
    import_realms(site, [{"realm": _REALM, "enabled": True, "clients": _clients()}])
    shown = _certificates(site)
    taken: dict[str, list[float]] = {}
    with stack(site) as target:
        connection, turn = GatewaySocket(target), cycle(shown)
        first, _, _ = (
            _seconds(target, connection, client_id, shown)
            for _, client_id, several in _CASES
            if several
        )
        for round_number in range(bench.plan.rounds + 1):
            for name, client_id, several in _CASES:
                pems = list(islice(turn, _REQUESTS)) if several else [shown[0]] * _REQUESTS
                seconds = _seconds(target, connection, client_id, pems)
                if round_number > 0:  # the first one warms up
                    taken.setdefault(name, []).append(seconds)
    figures = {name: sorted(found)[len(found) // 2] * 1e6 for name, found in taken.items()}
    one, one_by_subject, many, many_by_subject, unnamed = (figures[case[0]] for case in _CASES)
    return Result(
        (
            *(Figure(f"{name}: a token", value, "us") for name, value in figures.items()),
            Figure("the first token of each device", first * 1e6, "us"),
            Figure("10,000 devices in one, template", many / one, gate=_GROWTH),
            Figure(
                "10,000 devices in one, expression", many_by_subject / one_by_subject, gate=_GROWTH
            ),
            Figure("without a client_id in one with it", unnamed / many, gate=_UNNAMED),
        ),
        HOW,
    )


_GROWTH: Final = at_most(1.1, 1.0)
_UNNAMED: Final = at_most(1.2, 1.1)
_CASES: Final = (
    ("one device", "template", False),
    ("one device, expression", "expression", False),
    ("10,000 devices", "template", True),
    ("10,000 devices, expression", "expression", True),
    ("10,000 devices, no client_id", "", True),
)


def _clients() -> list[dict[str, object]]:
    bound = {"tls.client.certificate.bound.access.tokens": "true"}
    by_subject = {"x509.subjectdn": "CN=device-[0-9]+"}
    by_template = {"realmgate.certificate.template": _TEMPLATE}
    return [
        client_document("template") | {"attributes": bound | by_template},
        client_document("expression") | {"attributes": bound | by_subject},
    ]


def _certificates(site: Site) -> list[bytes]:
    """Return a certificate of each device, in PEM."""
    authority = read_authority(site.certificates, ISSUING)
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    found = []
    for number in range(_DEVICES):
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"device-{number}")])
        uri = x509.UniformResourceIdentifier(f"spiffe://acme.example/edge/berlin/device-{number}")
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(authority.certificate.subject)
            .public_key(key.public_key())
            .serial_number(number + 1)
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([uri]), critical=False)
        )
        signed = builder.sign(authority.key, hashes.SHA256())
        found.append(signed.public_bytes(Encoding.PEM))
    return found


def _seconds(
    target: Stack, connection: GatewaySocket, client_id: str, pems: Sequence[bytes]
) -> float:
    """Return the gateway's processor time of one token."""
    form = {"grant_type": "client_credentials"} | ({"client_id": client_id} if client_id else {})
    body, before = urlencode(form).encode(), target.gateway_seconds()
    for pem in pems:
        headers = {"ssl-client-cert": quote(pem), "ssl-client-verify": "SUCCESS"}
        path = f"/realms/{_REALM}/protocol/openid-connect/token"
        status = connection.ask("POST", path, body, headers)
        if status != HTTPStatus.OK:
            raise BenchError(f"no token for {client_id or 'the certificate alone'}: {status}")
    return (target.gateway_seconds() - before) / len(pems)
