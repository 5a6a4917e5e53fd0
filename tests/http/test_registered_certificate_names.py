"""Clients that register themselves take no certificate name that another client has.

Devices without a client_id are found by their certificate: with two owners they would be refused.
"""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import Administration
from tests.support.registration import Registration

PREFIX: Final = "realmgate.certificate."
EXACT: Final = {"x509.allow.regex.pattern.comparison": "false"}
BOUND: Final = {"tls.client.certificate.bound.access.tokens": "true"}
REFUSED: Final = (
    400,
    {
        "error": "invalid_client_metadata",
        "error_description": "Another client of the realm has this name of certificates",
    },
)


def subject(name: str) -> dict[str, str]:
    return {"x509.subjectdn": name, **EXACT}


def san(kind: str, name: str) -> dict[str, str]:
    return {f"{PREFIX}san.{kind}": name}


def template(text: str) -> dict[str, str]:
    return {f"{PREFIX}template": text, **BOUND}


TAKEN: Final = (
    subject("CN=device-1,O=Example"),
    san("dns", "device-1.plant.example"),
    san("uri", "spiffe://plant/edge/one"),
    san("ip", "192.0.2.7"),
    san("email", "device@plant.example"),
    template("spiffe://{domain}/core/{device}"),
    template("{device}.fleet.example"),
)
"""What other clients have."""
RIVALS: Final = (
    subject("CN=device-1,O=Example"),
    subject("cn = device-1 , o = Example"),
    san("dns", "device-1.plant.example"),
    san("dns", "DEVICE-1.Plant.Example"),
    san("uri", "spiffe://plant/edge/one"),
    san("ip", "192.0.2.7"),
    san("email", "device@PLANT.example"),
    san("uri", "spiffe://plant/core/one"),
    san("dns", "one.fleet.example"),
    template("spiffe://plant/{kind}/{device}"),
    template("spiffe://{domain}/core/{other}"),
    template("spiffe://{a}/{b}/{c}"),
    template("{device}.{site}.example"),
    template("{device}.plant.example"),
)
FREE: Final = (
    subject("CN=device-2,O=Example"),
    san("dns", "device-2.plant.example"),
    san("dns", "one.two.fleet.example"),
    san("uri", "spiffe://plant/edge/two"),
    san("ip", "192.0.2.8"),
    san("email", "other@plant.example"),
    template("spiffe://{domain}/edges/{device}"),
    template("{device}.other.example"),
    {"x509.subjectdn": "CN=device-1.*"},
)


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm with a client for each name."""
    clients = [
        {"clientId": f"owner-{place}", "clientAuthenticatorType": "client-x509", "attributes": name}
        for place, name in enumerate(TAKEN)
    ]
    with administered_realm(administration, "of-names", {}, clients=clients) as made:
        yield made


@pytest.fixture(scope="module")
def service(realm: AdministeredRealm) -> Registration:
    return Registration(realm)


def device(client_id: str, name: dict[str, str]) -> dict[str, Any]:
    document = {"clientId": client_id, "clientAuthenticatorType": "client-x509"}
    return {**document, "attributes": name}


def test_a_name_of_another_client_is_not_registered(service: Registration) -> None:
    for name in RIVALS:
        document = device("rival", name)
        refused = service.refused("POST", "default", document, token=service.initial())
        assert refused == REFUSED, name
        assert service.realm.get("clients?clientId=rival") == []


def test_a_free_name_is_registered(service: Registration) -> None:
    for place, name in enumerate(FREE):
        document = device(f"free-{place}", name)
        made = service.given("POST", "default", document, token=service.initial())
        service.realm.change("DELETE", f"clients/{made['id']}")


def test_a_registered_client_changes_to_no_name_of_another(service: Registration) -> None:
    document = device("changing", san("dns", "changing.plant.example"))
    made = service.given("POST", "default", document, token=service.initial())
    own = made["registrationAccessToken"]
    for name in RIVALS:
        changed = {"x509.subjectdn": "", **dict.fromkeys(document["attributes"], ""), **name}
        refused = service.refused("PUT", "default/changing", device("changing", changed), token=own)
        assert refused == REFUSED, name
    same = {**document, "name": "the same name of certificates"}
    own = service.given("PUT", "default/changing", same, token=own)["registrationAccessToken"]
    service.realm.change("DELETE", f"clients/{made['id']}")


def test_openid_metadata_takes_no_name_of_another(service: Registration) -> None:
    for member, name in (
        ("tls_client_auth_subject_dn", "CN=device-1,O=Example"),
        ("tls_client_auth_san_dns", "one.fleet.example"),
        ("tls_client_auth_san_uri", "spiffe://plant/core/one"),
    ):
        document = {
            "redirect_uris": ["https://rival.test/*"],
            "token_endpoint_auth_method": "tls_client_auth",
            member: name,
        }
        refused = service.refused("POST", "openid-connect", document, token=service.initial())
        assert refused == REFUSED, member


def test_an_administrator_gives_two_clients_one_name(realm: AdministeredRealm) -> None:
    made = realm.change("POST", "clients", device("second", TAKEN[0]))
    realm.change("DELETE", f"clients/{made}")
