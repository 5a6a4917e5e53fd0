"""Pairwise subjects. OpenID Connect Core §8.1; the expected one was computed by Java's classes."""

from dataclasses import replace

import pytest

from gateway.domain.clients import Client, ProtocolMapper
from gateway.domain.clients.redirect_uris import RedirectUris
from gateway.protocol.claims.subject import check_pairwise, is_subject, subject_identifier

USER = "d8c8af9d-498d-4e6a-b158-dbdc898aff58"
SALTED = {"sectorIdentifierUri": "", "pairwiseSubAlgorithmSalt": "a salt"}
PUBLIC = Client("app-uuid", "demo", "app")


def _client(*patterns: str, root: str = "", salt: str = "a salt", sector: str = "") -> Client:
    address = f"https://{sector}/s.json" if sector else ""
    config = {"sectorIdentifierUri": address, "pairwiseSubAlgorithmSalt": salt}
    mapper = ProtocolMapper("m", "m", "oidc-sha256-pairwise-sub-mapper", config)
    redirects = RedirectUris(root_url=root, patterns=patterns)
    return replace(PUBLIC, protocol_mappers=(mapper,), redirects=redirects)


ONE = _client("https://app.example.test/callback")


def test_without_the_mapper_the_subject_is_the_users_id() -> None:
    assert subject_identifier(PUBLIC, USER) == USER


def test_the_subject_is_the_one_of_keycloak() -> None:
    assert subject_identifier(ONE, USER) == "64cccb2c-6f17-373b-b85b-067df9b2af00"


@pytest.mark.parametrize(
    "client",
    [
        _client("https://app.example.test/a", "https://app.example.test:8443/b/*"),
        _client("/a", root="https://app.example.test"),
        _client(root="https://app.example.test"),
        replace(ONE, id="another-uuid"),
        _client("https://app.example.test/", "https://[::1"),
    ],
)
def test_clients_of_one_host_share_the_subject(client: Client) -> None:
    assert subject_identifier(client, USER) == subject_identifier(ONE, USER)


def test_another_sector_salt_or_user_has_another_subject() -> None:
    several = _client("https://app.example.test/", "https://other.example.test/")
    others = (
        subject_identifier(_client("https://other.example.test/"), USER),
        subject_identifier(_client("https://app.example.test/", salt="x"), USER),
        subject_identifier(ONE, "another user"),
        subject_identifier(several, USER),
        subject_identifier(replace(several, id="another-uuid"), USER),
        subject_identifier(_client("https://app.example.test/", salt=""), USER),
    )
    assert len({*others, subject_identifier(ONE, USER), USER}) == len(others) + 2


def test_a_token_names_its_user_by_either_subject() -> None:
    assert is_subject(subject_identifier(ONE, USER), ONE, USER)
    assert is_subject(USER, ONE, USER)
    assert not is_subject(subject_identifier(ONE, "another"), ONE, USER)
    assert not is_subject(None, PUBLIC, USER)


def test_the_address_of_a_sector_begins_with_https() -> None:
    assert check_pairwise(SALTED) is None
    assert check_pairwise({}) is None
    assert check_pairwise({**SALTED, "sectorIdentifierUri": "https://a.test/s.json"}) is None
    for wrong in ("http://a.test/s.json", "https://", "a.test"):
        address = check_pairwise({**SALTED, "sectorIdentifierUri": wrong})
        assert address is not None
        assert address.path == "config.sectorIdentifierUri"


def test_clients_of_one_sector_know_a_user_by_one_subject() -> None:
    one, other, alone = (
        _client(f"https://{host}/", sector=sector)
        for host, sector in (("a.test", "s.test"), ("b.test", "s.test"), ("a.test", ""))
    )
    assert subject_identifier(one, USER) == subject_identifier(other, USER)
    assert subject_identifier(one, USER) != subject_identifier(alone, USER)
