"""The example of docs/protecting-a-service.md does what the page says, with real tokens."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx2
import jwt
import pytest

from tests.support.wire import PASSWORD, SECRET, Wire, claims_of, protocol

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/examples/protected_service.py"


def _example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("protected_service", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class PublishedKeys(jwt.PyJWKClient):
    """The realm's keys, asked for on the socket of the gateway."""

    def __init__(self, wire: Wire, realm: str) -> None:
        super().__init__("https://unused.test")
        self._wire = wire
        self._path = protocol(realm, "certs")

    def fetch_data(self) -> Any:
        """Return the JWKS."""
        return self._wire.get(self._path).json()


class Service:
    """The example as its nginx sees it."""

    def __init__(
        self, wire: Wire, audience: str, realm: str = "wire", issuer: str | None = None
    ) -> None:
        example = _example()
        issuer = issuer or str(claims_of(wire.token())["iss"]).replace("/wire", f"/{realm}")
        self.wire = wire
        self.app = example.service(example.TokenCheck(PublishedKeys(wire, realm), issuer, audience))

    async def ask(
        self, token: str | None, certificate: str | None, **headers: str
    ) -> tuple[int, Mapping[str, Any]]:
        """Ask the service with a token and the certificate of that name."""
        sent = dict(headers)
        if token is not None:
            sent |= {"Authorization": f"Bearer {token}"}
        if certificate is not None:
            sent |= {"ssl-client-cert": self.wire.certificates[certificate]}
        transport = httpx2.ASGITransport(app=self.app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://service") as http:
            answer = await http.get("/machine", headers=sent)
        return answer.status_code, answer.json()


@pytest.fixture
def service(wire: Wire) -> Service:
    """Give the service for which tokens of device-1 are meant."""
    return Service(wire, "device-1")


async def test_the_holder_of_token_and_certificate_is_let_in(service: Service) -> None:
    token = service.wire.device_token("device-1", "device-1")
    assert await service.ask(token, "device-1") == (200, {"hello": "device-1"})


@pytest.mark.parametrize(
    ("certificate", "reason"),
    [
        ("device-2", "the token is bound to another certificate"),
        (None, "a client certificate is expected"),
    ],
)
async def test_a_stolen_token_is_worthless(
    service: Service, certificate: str | None, reason: str
) -> None:
    token = service.wire.device_token("device-1", "device-1")
    status, told = await service.ask(token, certificate)
    assert (status, told["error_description"]) == (401, reason)


async def test_a_certificate_that_cannot_be_read_is_refused(service: Service) -> None:
    token = service.wire.device_token("device-1", "device-1")
    status, told = await service.ask(token, None, **{"ssl-client-cert": "%2D%2Dnonsense"})
    assert (status, told["error_description"]) == (401, "the client certificate cannot be read")


async def test_a_token_for_somebody_else_is_refused(wire: Wire) -> None:
    service = Service(wire, "another-service")
    token = wire.device_token("device-1", "device-1")
    status, told = await service.ask(token, "device-1")
    assert (status, told["error_description"]) == (401, "the token is not valid here")


async def test_a_token_of_another_realm_is_refused(wire: Wire) -> None:
    """Its signature is good by the keys of its own realm, and its issuer another."""
    service = Service(wire, "device-1", realm="people")
    token = wire.device_token("device-1", "device-1")
    assert (await service.ask(token, "device-1"))[0] == 401


async def test_a_token_of_another_issuer_is_refused(wire: Wire) -> None:
    service = Service(wire, "device-1", issuer="https://elsewhere.test/realms/wire")
    token = wire.device_token("device-1", "device-1")
    assert (await service.ask(token, "device-1"))[0] == 401


async def test_a_token_that_is_not_bound_is_refused(wire: Wire) -> None:
    token = wire.token("svc")
    audience = claims_of(token)["aud"]
    service = Service(wire, audience if isinstance(audience, str) else audience[0])
    status, told = await service.ask(token, "device-1")
    assert status == 401
    assert told["error_description"] == "a token that is bound to a certificate is expected"


async def test_an_id_token_is_no_access_token(wire: Wire) -> None:
    form = {"grant_type": "password", "client_id": "bound-app", "client_secret": SECRET}
    form |= {"username": "alice", "password": PASSWORD, "scope": "openid"}
    answer = wire.post("token", form, realm="people", certificate="device-1").json()
    service = Service(wire, "bound-app", realm="people")
    assert await service.ask(answer["access_token"], "device-1") == (200, {"hello": "bound-app"})
    status, told = await service.ask(answer["id_token"], "device-1")
    assert (status, told["error_description"]) == (401, "this is no access token")


@pytest.mark.parametrize("token", ["", "nonsense", "a.b.c", None])
async def test_what_is_no_token_is_refused(service: Service, token: str | None) -> None:
    assert (await service.ask(token, "device-1"))[0] == 401


async def test_unfetchable_keys_are_reported_with_the_reason(
    wire: Wire, caplog: pytest.LogCaptureFixture
) -> None:
    example = _example()
    keys = jwt.PyJWKClient("https://127.0.0.1:1/certs")
    app = example.service(example.TokenCheck(keys, "https://unused.test", "device-1"))
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://service") as http:
        answer = await http.get("/machine", headers={"Authorization": f"Bearer {wire.token()}"})
    assert answer.status_code == 503
    assert "cannot verify tokens: Fail to fetch data" in caplog.text
