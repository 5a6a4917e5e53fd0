"""Codes of one-time passwords, against the vectors of the standards."""

import base64
import hmac
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.crypto.one_time_passwords import PyOtp
from gateway.domain.errors import SecretUnreadable
from gateway.domain.ports.credentials import CodeMatch
from gateway.domain.secrets import Secret

KEY = "12345678901234567890"
"""RFC 4226 Appendix D, RFC 6238 Appendix B; the longer hashes repeat it to their own length."""
COUNTED = ("755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583")
TIMED = [
    (59, "HmacSHA1", "94287082"),
    (59, "HmacSHA256", "46119246"),
    (59, "HmacSHA512", "90693936"),
    (1111111109, "HmacSHA1", "07081804"),
    (1111111109, "HmacSHA256", "68084774"),
    (1111111109, "HmacSHA512", "25091201"),
    (20000000000, "HmacSHA1", "65353130"),
    (20000000000, "HmacSHA256", "77737706"),
    (20000000000, "HmacSHA512", "47863826"),
]
LENGTHS = {"HmacSHA1": 20, "HmacSHA256": 32, "HmacSHA512": 64}


def match(
    code: str,
    *,
    window: int = 0,
    at: int = 59,
    value: Any = KEY,
    reusable: bool = False,
    **made: Any,
) -> CodeMatch | None:
    """Compare a code with a credential, whose data may be told apart from Keycloak's default."""
    data = {"subType": "totp", "digits": 6, "counter": 0, "period": 30, "algorithm": "HmacSHA1"}
    return PyOtp().match(
        Secret(code),
        json.dumps(data | made),
        json.dumps({"value": value}),
        look_ahead_window=window,
        now=datetime.fromtimestamp(at, UTC),
        reusable=reusable,
    )


@pytest.mark.parametrize(("at", "algorithm", "code"), TIMED)
def test_codes_of_time_are_those_of_rfc_6238(at: int, algorithm: str, code: str) -> None:
    key = (KEY * 4)[: LENGTHS[algorithm]]
    found = match(code, at=at, value=key, algorithm=algorithm, digits=8)
    assert found is not None
    assert found.step == at // 30
    assert match(code, at=at + 30, value=key, algorithm=algorithm, digits=8) is None


@pytest.mark.parametrize(("counter", "code"), list(enumerate(COUNTED)))
def test_counted_codes_follow_rfc_4226_and_advance_the_counter(counter: int, code: str) -> None:
    found = match(code, subType="hotp", counter=counter)
    assert found is not None
    assert found.step == counter
    assert found.advanced is not None
    assert json.loads(found.advanced) == {
        "subType": "hotp",
        "digits": 6,
        "counter": counter + 1,
        "period": 30,
        "algorithm": "HmacSHA1",
    }


@pytest.mark.parametrize(("window", "steps"), [(0, [3]), (1, [2, 3, 4]), (2, [1, 2, 3, 4, 5])])
def test_a_code_of_time_may_be_off_by_the_window_on_both_sides(
    window: int, steps: list[int]
) -> None:
    found = [match(code, window=window, at=3 * 30 + 10) for code in COUNTED]
    assert [one.step for one in found if one is not None] == steps


def test_a_code_of_time_matches_once_and_then_none_before_it() -> None:
    """RFC 6238 §5.2."""
    first = match(COUNTED[3], window=1, at=3 * 30)
    assert first is not None
    assert first.advanced is not None
    after = json.loads(first.advanced)
    assert after["counter"] == 4
    found = [match(code, window=1, at=3 * 30, **after) for code in COUNTED]
    assert [one.step for one in found if one is not None] == [4]


def test_the_initial_counter_does_not_affect_time_based_codes() -> None:
    """Keycloak stores it in either kind of credential."""
    assert match(COUNTED[3], window=1, at=3 * 30, counter=6) is not None
    assert match(COUNTED[3], window=1, at=3 * 30, counter=5) is None


def test_reusable_time_codes_change_nothing_and_counted_ones_do() -> None:
    assert match(COUNTED[3], at=3 * 30, counter=9, reusable=True) == CodeMatch(3, None)
    counted = match(COUNTED[3], subType="hotp", counter=3, reusable=True)
    assert counted is not None
    assert counted.advanced is not None


def test_the_first_code_is_not_sought_before_the_epoch() -> None:
    assert match(COUNTED[0], window=2, at=10) is not None


def test_a_counted_code_may_lead_by_the_window_and_never_lag() -> None:
    found = [match(code, window=2, subType="hotp", counter=3) for code in COUNTED]
    assert [one.step for one in found if one is not None] == [3, 4, 5]


def test_the_period_is_the_credentials() -> None:
    assert match(COUNTED[1], at=119, period=60) is not None


def test_a_secret_may_stand_in_base32() -> None:
    value = base64.b32encode(KEY.encode()).decode().rstrip("=").lower()
    assert match(COUNTED[1], value=value, secretEncoding="BASE32") is not None


def test_a_short_key_of_elsewhere_makes_its_codes() -> None:
    digest = hmac.new(b"0123456789", (1).to_bytes(8, "big"), "sha1").digest()
    place = digest[-1] & 15
    number = int.from_bytes(digest[place : place + 4], "big") & 0x7FFFFFFF
    assert match(f"{number % 1_000_000:06}", value="0123456789") is not None


@pytest.mark.parametrize(
    "code",
    [
        "",
        "28708",
        "2870820",
        " 287082",
        "287082 ",
        "\uff12\uff18\uff17\uff10\uff18\uff12",
        "\ud800",
    ],
)
def test_nothing_but_the_digits_is_the_code(code: str) -> None:
    assert match(COUNTED[1]) is not None
    assert match(code) is None


@pytest.mark.parametrize(
    "made",
    [
        {"subType": "motp"},
        {"subType": None},
        {"algorithm": "HmacMD5"},
        {"digits": 5},
        {"digits": 11},
        {"digits": "six"},
        {"period": -1},
        {"period": 86_401},
        {"counter": -1},
        {"counter": 2**63},
        {"secretEncoding": "HEX", "value": "MFRGGZDFMZTWQ2LK"},
        {"value": ""},
        {"value": "x" * 513},
        {"value": 5},
    ],
    ids=str,
)
def test_a_credential_without_codes_is_unreadable_and_refused(
    made: dict[str, Any],
) -> None:
    with pytest.raises(SecretUnreadable) as refused:
        match("287082", **made)
    assert KEY not in str(refused.value)


@pytest.mark.parametrize("data", ["", "[]", "null", "{}", "[" * 100_000])
def test_what_is_no_credential_is_unreadable(data: str) -> None:
    with pytest.raises(SecretUnreadable):
        PyOtp().match(
            Secret("1"),
            data,
            data,
            look_ahead_window=0,
            now=datetime.fromtimestamp(0, UTC),
            reusable=False,
        )
