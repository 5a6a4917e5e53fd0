"""Five proxies, nginx among them, in front of gateways, and the ways to use a certificate there.

A gateway for each proxy, for each writes certificates in its own way. Protected services are
decided about by the gateway of nginx, whichever proxy is in front of them.
"""

import json
import re
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx2

from tests.support.administration import Administration, master
from tests.support.certificate_kinds import KINDS, REALM, REGISTERED, TEMPLATE, CertificateKinds
from tests.support.gateway_process import Gateway, until
from tests.support.gateway_proxies import (
    SETTINGS,
    start_gateway_for,
    start_gateway_proxy,
)
from tests.support.guarding_proxies import start_proxy
from tests.support.nginx import PROXY_SECRET, start_nginx
from tests.support.protected_sites import Protected, protecting_source
from tests.support.proxy_process import OTHER_PROXIES, open_to_other_users
from tests.support.recording_upstream import recording_upstream
from tests.support.sign_in_browser import CALLBACK
from tests.support.spec_stack import protocol
from tests.support.wire import SECRET

HOST: Final = "matrix.example.test"
_RULES: Final = f"""
[[sites]]
name = "matrix"
hosts = ["{HOST}"]
realms = ["{REALM}"]
rules = [{{ name = "all", paths = ["/*"], accepts = ["certificate"] }}]
"""
USES: Final = (
    "client authentication",
    "user sign-in",
    "user sign-in on pages",
    "bound token",
    "forward-auth",
)
"""The ways to use a certificate. A sign-in that is not on pages is the direct grant."""
MODES: Final[Mapping[str, str]] = {
    "on": "required",
    "optional": "optional",
    "optional_no_ca": "any",
}
"""How a proxy verifies certificates, in nginx's words: the listener of gateway_proxies."""
HANDSHAKE: Final = "TLS handshake refused"
BY_THE_PROXY: Final = "by the proxy"
REASONS: Final[Mapping[str, str]] = {
    "missing": r"no client certificate was presented|[Cc]ertificat\w+ (is )?missing",
    "unknown-issuer": r"the issuer .* is not known",
    "no-path": r"no path leads over .* to a trusted root",
    "not-verified": r"the proxy did not verify it",
    "expired": r"it expired at",
    "not-yet-valid": r"it is not valid before",
    "purpose": r"its extended key usage does not allow client authentication",
    "weak-key": r"its key is weak",
    "authority": r"it is an authority's certificate",
    "names": r"the authority .* may not issue for",
    "denied": r"it is on the deny list",
    "revoked": r" was revoked",
}
"""The reasons of the gateway, by a word for the table."""
_CLIENTS: Final = {REGISTERED: "self-signed", TEMPLATE: "fleet"}
_FORGED: Final = {"ssl-client-cert": "garbage", "client-cert": ":garbage:"}
_PAGES: Final = f"{protocol(REALM)}/auth"
_SHOWN: Final = {
    "account": 'id="kc-x509-login-info"',
    "not accepted": "The client certificate was not accepted.",
    "password": 'id="kc-form-login"',
}
"""Pages by what they contain: the account of the certificate, or the form for a password."""
_TOKEN, _USERINFO = f"{protocol(REALM)}/token", f"{protocol(REALM)}/userinfo"


@dataclass(slots=True)
class Refusals:
    """The reasons in a gateway's log, in the order of the requests for tokens."""

    gateway: Gateway
    _read: int = 0

    def next(self) -> str:
        """Return the reason of the next refusal, which may not be written yet."""
        return until(self._find, "the refusal is not in the log")

    def _find(self) -> str:
        new = self.gateway.log_text()[self._read :].rpartition("\n")[0]
        for text in new.splitlines(keepends=True):
            self._read += len(text)
            line = json.loads(text) if text.startswith("{") else {}
            if line.get("reason") and line["route"].endswith("/token"):
                return str(line["reason"])
        return ""


@dataclass(frozen=True, slots=True)
class Edge:
    """A listener of a proxy; `site` is the port of the protected service, where it has one."""

    mode: str
    refusals: "Refusals"
    port: int
    site: int | None
    kinds: CertificateKinds

    def outcomes(self, kind: str) -> dict[str, str]:
        """Use a certificate in every way, one after the other; return status and reason by use."""
        with self._client(kind) as http:
            found = {
                "client authentication": self._authenticate(http, kind),
                "user sign-in": self._sign_in(http),
                "user sign-in on pages": self._open_page(http),
                "bound token": self._bind(http),
            }
        if self.site is not None:
            with self._client(kind) as http:
                found["forward-auth"] = self._decide(http)
        return found

    def _client(self, kind: str) -> httpx2.Client:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        tls.set_ciphers("DEFAULT:@SECLEVEL=0")
        certificate = KINDS[kind]
        if certificate is not None:
            pair = self.kinds.certificates.pair(certificate)
            tls.load_cert_chain(f"{pair}.crt", f"{pair}.key")
        headers = _FORGED if "forged" in kind else {}
        return httpx2.Client(verify=tls, trust_env=False, timeout=10, headers=headers)

    def _authenticate(self, http: httpx2.Client, kind: str) -> str:
        client_id = _CLIENTS.get(kind, "device-1")
        return self._token(http, {"grant_type": "client_credentials", "client_id": client_id})

    def _sign_in(self, http: httpx2.Client) -> str:
        return self._token(http, {"grant_type": "password", "client_id": "app"})

    def _open_page(self, http: httpx2.Client) -> str:
        """Return which page a browser with the certificate is shown first."""
        asked = {"client_id": "web", "response_type": "code", "redirect_uri": CALLBACK}
        try:
            answer = http.get(f"https://localhost:{self.port}{_PAGES}", params=asked)
        except httpx2.TransportError:
            return HANDSHAKE
        shown = next((name for name, text in _SHOWN.items() if text in answer.text), BY_THE_PROXY)
        return f"{answer.status_code} {shown}"

    def _bind(self, http: httpx2.Client) -> str:
        """Return the outcome of a token that has to be bound, and of its use."""
        form = {"grant_type": "client_credentials", "client_id": "bound", "scope": "openid"}
        form["client_secret"] = SECRET
        outcome = self._token(http, form)
        if outcome != "200":
            return outcome
        token = self._send(http, form).json()["access_token"]
        url, headers = f"https://localhost:{self.port}{_USERINFO}", _bearer(token)
        if self.mode != "on":
            with self._client("none") as bare:
                assert bare.get(url, headers=headers).status_code == httpx2.codes.UNAUTHORIZED
        return str(http.get(url, headers=headers).status_code)

    def _decide(self, http: httpx2.Client) -> str:
        try:
            answer = http.get(
                f"https://localhost:{self.site}/",
                headers={"Host": HOST},
                extensions={"sni_hostname": HOST},
            )
        except httpx2.TransportError:
            return HANDSHAKE
        if answer.is_success:
            return str(answer.status_code)
        reason = answer.headers.get("x-realmgate-reason", BY_THE_PROXY)
        return f"{answer.status_code} {reason}"

    def _token(self, http: httpx2.Client, form: Mapping[str, str]) -> str:
        try:
            answer = self._send(http, form)
        except httpx2.TransportError:
            return HANDSHAKE
        if answer.is_success:
            return str(answer.status_code)
        description = answer.json()["error_description"]
        if answer.status_code == httpx2.codes.BAD_REQUEST and "client cert" in description:
            return f"{answer.status_code} {BY_THE_PROXY}"
        logged = self.refusals.next()
        # The caller is not told why a client is not authenticated.
        reason = logged if description.startswith("Invalid client") else description
        return f"{answer.status_code} {_word(reason)}"

    def _send(self, http: httpx2.Client, form: Mapping[str, str]) -> httpx2.Response:
        return http.post(f"https://localhost:{self.port}{_TOKEN}", data=dict(form))


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _word(text: str) -> str:
    return next((word for word, found in REASONS.items() if re.search(found, text)), text)


@contextmanager
def start_certificate_edges(kinds: CertificateKinds) -> Iterator[dict[str, Edge]]:
    """Run all proxies; return the edges by proxy and mode, such as `nginx on`."""
    with ExitStack() as running:
        made = running.enter_context(tempfile.TemporaryDirectory(prefix="realmgate-matrix-"))
        folder = Path(made)
        (folder / "rules.toml").write_text(_RULES)
        gateways = {
            name: running.enter_context(_start_gateway(name, kinds, folder)) for name in SETTINGS
        }
        protected = running.enter_context(_start_protected(gateways["nginx"], kinds, folder))
        site = protected.nginx.site
        ports = {
            "required": site.mtls_port,
            "optional": site.https_port,
            "any": site.self_signed_port,
        }
        refusals = {name: Refusals(gateway) for name, gateway in gateways.items()}
        edges = {
            f"nginx {mode}": Edge(mode, refusals["nginx"], ports[own], ports[own], kinds)
            for mode, own in MODES.items()
        }
        for name in OTHER_PROXIES:
            socket = gateways[name].socket
            proxy = running.enter_context(start_gateway_proxy(name, socket, kinds.certificates))
            guarding = running.enter_context(start_proxy(name, HOST, protected))
            for mode, own in MODES.items():
                port = guarding.port if mode == "optional" else None
                edge = Edge(mode, refusals[name], proxy.ports[own], port, kinds)
                edges[f"{name} {mode}"] = edge
        yield edges


@contextmanager
def _start_protected(
    gateway: Gateway, kinds: CertificateKinds, folder: Path
) -> Iterator[Protected]:
    """Run nginx and a service in front of and behind the gateway of nginx."""
    with (
        recording_upstream(folder / "service.sock") as service,
        start_nginx(
            folder / "nginx",
            kinds.certificates.folder,
            [f"unix:{gateway.socket}"],
            source=protecting_source(folder, f"http://{service.address}", servers=(HOST,)),
            proxy_secret=PROXY_SECRET,
        ) as nginx,
        _as_proxy(gateway) as http,
    ):
        open_to_other_users(service.path, folder)
        administration = Administration(gateway, http)
        yield Protected(nginx, gateway, administration, service, kinds.certificates)


def _as_proxy(gateway: Gateway) -> httpx2.Client:
    return gateway.client(**{"X-Realmgate-Proxy-Secret": PROXY_SECRET})


@contextmanager
def _start_gateway(name: str, kinds: CertificateKinds, folder: Path) -> Iterator[Gateway]:
    realms = [master(), kinds.realm()]
    guard = {"guard_file": folder / "rules.toml"} if name == "nginx" else {}
    with start_gateway_for(name, realms, kinds.certificates, **guard) as gateway:
        with _as_proxy(gateway) as http:
            token = Administration(gateway, http).token()
            answer = http.post(
                f"/admin/realms/{REALM}/certificates/denied",
                json={"thumbprint": kinds.denied},
                headers={"Authorization": f"Bearer {token}"},
            )
            assert answer.status_code == httpx2.codes.CREATED, answer.text
        yield gateway
