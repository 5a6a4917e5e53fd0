"""The class of a sign-in (`acr`). Keycloak: AcrUtils.mapLoaToAcr; OpenID Connect Core §2."""

import pytest

from gateway.protocol.authorization.levels import acr_of

NAMES = {"copper": 1, "silver": 2, "gold": 3}


@pytest.mark.parametrize(
    ("level", "fresh", "requested", "acr"),
    [
        (3, True, (), "gold"),
        (2, True, (), "silver"),
        (2, False, (), "silver"),
        (9, True, (), "gold"),
        (0, True, (), "0"),
        (None, True, (), "copper"),
        (None, False, (), "0"),
        (3, True, ("copper",), "copper"),
        (3, True, ("copper", "silver"), "silver"),
        (2, True, ("gold",), "silver"),
        (2, True, ("2",), "2"),
        (2, True, ("unknown",), "silver"),
    ],
)
def test_the_highest_name_that_was_reached_counts(
    *, level: int | None, fresh: bool, requested: tuple[str, ...], acr: str
) -> None:
    assert acr_of(level, NAMES, fresh=fresh, requested=requested) == acr


@pytest.mark.parametrize(
    ("level", "fresh", "acr"), [(None, True, "1"), (None, False, "0"), (2, True, "2")]
)
def test_without_names_the_level_is_the_class(*, level: int | None, fresh: bool, acr: str) -> None:
    assert acr_of(level, {}, fresh=fresh, requested=("gold",)) == acr
