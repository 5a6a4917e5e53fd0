"""Sign-ins that the browser keeps: sealed, for one host, for a while, and few."""

from datetime import UTC, datetime, timedelta

import pytest

from gateway.crypto.secrets_at_rest import AesGcmSecrets
from gateway.forward_auth.browser import SIGN_IN_LIFESPAN, PendingSignIn, PendingSignIns

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOST, URL = "app.example.test", "https://app.example.test/home/"


@pytest.fixture
def pending() -> PendingSignIns:
    """Return the sealing of sign-ins."""
    return PendingSignIns(AesGcmSecrets((bytes(32),)))


def _begun(at: datetime = NOW, url: str = URL) -> PendingSignIn:
    return PendingSignIn.new(url, at)


def test_a_sign_in_is_opened_as_it_was_sealed(pending: PendingSignIns) -> None:
    begun = _begun()
    sealed = pending.seal(begun, HOST)
    assert pending.open(sealed, HOST, NOW) == begun
    for secret in (begun.state, begun.nonce, begun.verifier, URL):
        assert secret not in sealed
        assert secret not in repr(begun)


def test_a_sign_in_is_for_the_host_where_it_began(pending: PendingSignIns) -> None:
    sealed = pending.seal(_begun(), HOST)
    assert pending.open(sealed, "wiki.example.test", NOW) is None


def test_a_changed_or_foreign_text_is_no_sign_in(pending: PendingSignIns) -> None:
    sealed = pending.seal(_begun(), HOST)
    foreign = PendingSignIns(AesGcmSecrets((bytes(31) + b"a",))).seal(_begun(), HOST)
    for text in ("", "x", sealed[:-1], f"{sealed}A", foreign):
        assert pending.open(text, HOST, NOW) is None


def test_a_sign_in_lasts_half_an_hour(pending: PendingSignIns) -> None:
    sealed = pending.seal(_begun(), HOST)
    assert pending.open(sealed, HOST, NOW + SIGN_IN_LIFESPAN - timedelta(seconds=1)) is not None
    assert pending.open(sealed, HOST, NOW + SIGN_IN_LIFESPAN) is None


def test_the_oldest_are_surplus(pending: PendingSignIns) -> None:
    sealed = {
        str(age): pending.seal(_begun(NOW - timedelta(minutes=age)), HOST) for age in (3, 1, 4, 2)
    }
    assert pending.surplus(sealed, "new", HOST, NOW) == ()
    sealed |= {"9": pending.seal(_begun(NOW - timedelta(minutes=9)), HOST), "5": sealed["4"]}
    assert set(pending.surplus(sealed, "new", HOST, NOW)) == {"9"}
    sealed["40"] = pending.seal(_begun(NOW - timedelta(minutes=40)), HOST)
    sealed["x"] = "no sign-in"
    assert set(pending.surplus(sealed, "new", HOST, NOW)) == {"9", "40", "x"}


def test_long_ones_are_surplus_sooner(pending: PendingSignIns) -> None:
    long = f"{URL}{'a' * 1900}"
    sealed = {
        str(age): pending.seal(_begun(NOW - timedelta(minutes=age), long), HOST)
        for age in (1, 2, 3)
    }
    added = pending.seal(_begun(url=long), HOST)
    kept = set(sealed) - set(pending.surplus(sealed, added, HOST, NOW))
    assert len(kept) < 2
    assert sum(len(sealed[name]) for name in kept) + len(added) <= 6000
