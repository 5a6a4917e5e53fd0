"""A device, its certificate, and a token that is of no use to a thief.

Speaks to a running stack as clients do, through the real nginx, and checks each answer.
Exit code 1 where one is not as it should be. Spec: RFC 8705 §3, RFC 7662 §2, RFC 7515 §5.2
"""

import argparse
import base64
import hashlib
import json
import shlex
import ssl
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import jwt
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

HTTP_OK, UNAUTHORIZED = 200, 401
WIDTH, LONGEST = 100, 160
TIMEOUT_SECONDS = 10
TOKEN = "/protocol/openid-connect/token"  # noqa: S105 - a path
INTROSPECT = TOKEN + "/introspect"
KEY_SET = "/protocol/openid-connect/certs"
SERVICE = "demo-service"
NOT_BOUND = "Client certificate missing, or its thumbprint and one in the token did NOT match"

Claims = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said."""

    status: int
    document: dict[str, Any]

    @property
    def error(self) -> str:
        """Return the server's own words."""
        return ": ".join(
            str(self.document[name])
            for name in ("error", "error_description")
            if name in self.document
        )


class Gateway:
    """The running stack, as `run.env` describes it."""

    def __init__(self, state: Path) -> None:
        """Read the addresses and secrets of the state folder `state`."""
        lines = shlex.split((state / "run.env").read_text())
        facts = dict(line.partition("=")[::2] for line in lines)
        self.https = facts["REALMGATE_URL"]
        self.mtls = facts["REALMGATE_MTLS_URL"]
        self.realm = "/realms/" + facts["REALMGATE_REALM"]
        self.client_id = facts["REALMGATE_CLIENT_ID"]
        self.secret_file = state / "secrets" / f"{SERVICE}.secret"
        self.service_secret = self.secret_file.read_text().strip()
        self._certificates = state / "certs"

    def post(self, url: str, path: str, device: str | None, **form: str) -> Answer:
        """Send a form, showing the certificate of `device`."""
        return self._request("POST", url, path, device, urlencode(form))

    def get(self, path: str) -> Answer:
        """Fetch a document as anybody may."""
        return self._request("GET", self.https, path, None, None)

    def thumbprint(self, device: str) -> str:
        """Return what `cnf` must say: SHA-256 of the certificate, computed here."""
        pem = (self._certificates / f"{device}.crt").read_bytes()
        der = x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER)
        return base64.urlsafe_b64encode(hashlib.sha256(der).digest()).rstrip(b"=").decode()

    def _request(
        self, method: str, url: str, path: str, device: str | None, body: str | None
    ) -> Answer:
        trust = ssl.create_default_context(cafile=self._certificates / "ca.crt")
        if device is not None:
            pair = self._certificates / device
            trust.load_cert_chain(f"{pair}.crt", f"{pair}.key")
        connection = HTTPSConnection(urlsplit(url).netloc, context=trust, timeout=TIMEOUT_SECONDS)
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        try:
            connection.request(method, self.realm + path, body, headers)
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        return Answer(response.status, json.loads(content) if content else {})


class Terminal:
    """Aligned lines, and the memory of whether all went well."""

    def __init__(self, *, colour: bool) -> None:
        """Use ANSI colours where `colour` is set."""
        self._colour = colour
        self._number = 0
        self.failures = 0

    def heading(self, text: str) -> None:
        """Begin the next step."""
        self._number += 1
        print(f"\n{self.paint('1;36', str(self._number))}  {self.paint('1', text)}")

    def line(self, text: str) -> None:
        """Print something beside the point."""
        print("   " + self.paint("2", _cut(text, WIDTH - 3)))

    def field(self, name: str, value: object, note: str = "") -> None:
        """Print one member of a JSON object."""
        text = value if isinstance(value, str) else json.dumps(value)
        room = WIDTH - 26 - (len(note) + 3 if note else 0)
        shown = f"     {name:<20} {_cut(text, room)}"
        print(self.paint("33", f"{shown}  ◀ {note}") if note else shown)

    def check(self, passed: bool, label: str, text: str, *more: str) -> None:  # noqa: FBT001 - reads as a sentence
        """Print a result with its mark; of `more`, the last line explains what stands before."""
        self.failures += not passed
        mark = self.paint("32", "✓") if passed else self.paint("31", "✗ not as expected:")
        print(f"   {mark} {self.paint('1', f'{label:<10}')} {_cut(text, WIDTH - 16)}")
        for line in more[:-1]:
            print(textwrap.fill(textwrap.shorten(line, LONGEST, placeholder=" …"), WIDTH, **_BELOW))
        for line in more[-1:]:
            print(self.paint("2", textwrap.fill(line, WIDTH, **_BELOW)))

    def paint(self, code: str, text: str) -> str:
        """Colour `text`."""
        return f"\033[{code}m{text}\033[0m" if self._colour else text


_BELOW: Any = {"initial_indent": " " * 16, "subsequent_indent": " " * 16}


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"


def demonstrate(gateway: Gateway, terminal: Terminal) -> None:
    """Run all steps, the later ones only with a token in hand."""
    token = obtain(gateway, terminal)
    if token is None:
        return
    verify(gateway, terminal, token)
    ask(gateway, terminal, token)
    steal(gateway, terminal, token)
    misuse_a_secret(gateway, terminal)


def obtain(gateway: Gateway, terminal: Terminal) -> str | None:
    """Ask for a token with nothing but a certificate, and show what is in it."""
    terminal.heading("device-1 requests a token with only its certificate")
    terminal.line(f"POST {gateway.mtls}{gateway.realm}{TOKEN}")
    answer = gateway.post(
        gateway.mtls,
        TOKEN,
        "device-1",
        grant_type="client_credentials",
        client_id=gateway.client_id,
    )
    token = answer.document.get("access_token")
    if answer.status != HTTP_OK or not isinstance(token, str):
        terminal.check(False, str(answer.status), answer.error)
        return None
    lifetime = answer.document["expires_in"]
    terminal.check(True, "200", f"a token for {gateway.client_id}, valid for {lifetime} s")
    terminal.line("header")
    for name, value in jwt.get_unverified_header(token).items():
        terminal.field(name, value)
    terminal.line("claims")
    for name, value in _unverified(token).items():
        terminal.field(name, _readable(name, value), "the binding" if name == "cnf" else "")
    return token


def verify(gateway: Gateway, terminal: Terminal, token: str) -> None:
    """Check the token as a resource server would: by the published keys alone."""
    terminal.heading("Any service can verify it with the realm's published keys")
    terminal.line(f"GET {gateway.https}{gateway.realm}{KEY_SET}")
    header = jwt.get_unverified_header(token)
    issuer = gateway.https + gateway.realm
    keys = jwt.PyJWKSet.from_dict(gateway.get(KEY_SET).document)
    try:
        claims = jwt.decode(
            token,
            keys[header["kid"]],
            algorithms=[header["alg"]],
            issuer=issuer,
            audience=gateway.client_id,
            options={"require": ["exp", "iat", "iss", "aud"]},
        )
    except (jwt.PyJWTError, KeyError) as error:
        terminal.check(False, "token", f"{type(error).__name__}: {error}")
        return
    left = claims["exp"] - int(datetime.now(UTC).timestamp())
    terminal.check(True, "signature", f"{header['alg']}, by a key of the set")
    terminal.check(True, "issuer", issuer)
    terminal.check(True, "expiry", f"in {left} s")
    bound_to = claims.get("cnf", {}).get("x5t#S256")
    terminal.check(
        bound_to == gateway.thumbprint("device-1"),
        "binding",
        "cnf is the SHA-256 of device-1.crt, computed here",
    )


def ask(gateway: Gateway, terminal: Terminal, token: str) -> None:
    """Introspect as those whom the token concerns."""
    terminal.heading("The gateway confirms it to the clients in its audience")
    terminal.line(f"POST {gateway.mtls}{gateway.realm}{INTROSPECT}")
    own = gateway.post(
        gateway.mtls, INTROSPECT, "device-1", client_id=gateway.client_id, token=token
    )
    terminal.check(
        own.document.get("active") is True,
        "active",
        f"to {gateway.client_id} with the same certificate",
    )
    service = _as_service(gateway, gateway.https, INTROSPECT, None, token=token)
    if service.status == UNAUTHORIZED:
        terminal.check(
            False,
            "refused",
            f"{SERVICE}: {service.error}",
            f"Is its secret in {gateway.secret_file}? scripts/run writes it when it starts.",
        )
        return
    terminal.check(
        service.document.get("active") is True and "cnf" in service.document,
        "active",
        f"to {SERVICE}, a resource server in the audience, by its secret:",
        "it receives cnf and compares it with the certificate of its own caller.",
    )


def steal(gateway: Gateway, terminal: Terminal, token: str) -> None:
    """Try the token from the wrong hands."""
    terminal.heading("The same token from another client is refused")
    other = gateway.post(
        gateway.mtls, INTROSPECT, "device-2", client_id=gateway.client_id, token=token
    )
    _refused(
        terminal,
        other,
        f"device-2 says it is {gateway.client_id}",
        "Its certificate is valid, but the subject is not the one registered.",
    )
    nobody = gateway.post(gateway.https, INTROSPECT, None, client_id=gateway.client_id, token=token)
    _refused(
        terminal,
        nobody,
        "a caller without any certificate",
        f"{gateway.client_id} has no other way to authenticate.",
    )
    outside = gateway.post(gateway.mtls, INTROSPECT, None, client_id=gateway.client_id, token=token)
    _refused(
        terminal,
        outside,
        "the same at the listener for devices",
        "nginx refuses callers without a certificate; the gateway never gets the request.",
        status=400,
    )
    stranger = gateway.post(
        gateway.mtls, INTROSPECT, "device-2", client_id="demo-device-2", token=token
    )
    terminal.check(
        stranger.status == HTTP_OK and stranger.document == {"active": False},
        "inactive",
        "device-2 as itself, demo-device-2",
        "200, active: false",
        "The token's audience does not name it, so it learns nothing at all.",
    )


def misuse_a_secret(gateway: Gateway, terminal: Terminal) -> None:
    """Present a bound token with the right secret and the wrong certificate."""
    terminal.heading("A stolen secret does not help: the token is bound to the certificate")
    answer = _as_service(gateway, gateway.mtls, TOKEN, "device-1", grant_type="client_credentials")
    bound = answer.document.get("access_token", "")
    terminal.check(
        "cnf" in (_unverified(bound) if bound else {}),
        "bound",
        f"a token for {SERVICE}, got by its secret, bound to device-1's certificate",
    )
    thief = _as_service(gateway, gateway.mtls, INTROSPECT, "device-2", token=bound)
    _refused(
        terminal,
        thief,
        "right secret, right token, but device-2's certificate",
        "The thumbprint in the token is not that of the certificate shown.",
        error=f"invalid_token: {NOT_BOUND}",
    )


def _as_service(gateway: Gateway, url: str, path: str, device: str | None, **form: str) -> Answer:
    secret = gateway.service_secret
    return gateway.post(url, path, device, client_id=SERVICE, client_secret=secret, **form)


def _refused(
    terminal: Terminal,
    answer: Answer,
    who: str,
    why: str,
    *,
    status: int = UNAUTHORIZED,
    error: str | None = None,
) -> None:
    passed = answer.status == status and bool(answer.error) and error in {None, answer.error}
    terminal.check(passed, "refused", who, f"{answer.status}, {answer.error}", why)


def _unverified(token: str) -> Claims:
    claims: Claims = jwt.decode(token, options={"verify_signature": False})
    return claims


def _readable(name: str, value: object) -> object:
    if name in {"exp", "iat"} and isinstance(value, int):
        return f"{value}  {datetime.fromtimestamp(value, UTC):%H:%M:%S} UTC"
    return value


def main() -> int:
    """Run the demonstration; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("state", type=Path, help="the state folder of a running stack")
    parser.add_argument("--colour", choices=["always", "never"], default="never")
    options = parser.parse_args()
    terminal = Terminal(colour=options.colour == "always")
    try:
        demonstrate(Gateway(options.state), terminal)
    except (OSError, HTTPException, ValueError) as failure:
        terminal.check(False, "failed", f"{type(failure).__name__}: {failure}")
    print()
    return 1 if terminal.failures else 0


if __name__ == "__main__":
    sys.exit(main())
