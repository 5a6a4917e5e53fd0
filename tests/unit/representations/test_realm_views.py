"""How much of a realm is told to whom. Keycloak: 7.1."""

from gateway.domain.roles import Role
from gateway.representations.realms.realm import (
    brief_realm,
    default_role,
    full_realm,
    named_realm,
    parse_realm,
    reduced_realm,
)

REALM = parse_realm(
    {
        "realm": "acme",
        "id": "acme-id",
        "displayName": "Acme",
        "supportedLocales": ["de"],
        "internationalizationEnabled": True,
        "smtpServer": {"password": "mail-canary"},
    }
)


def test_a_weak_administrator_sees_what_every_page_needs() -> None:
    assert list(reduced_realm(REALM, sees_users=True)) == [
        "realm",
        "displayName",
        "registrationEmailAsUsername",
        "bruteForceProtected",
        "supportedLocales",
        "organizationsEnabled",
    ]
    assert "registrationEmailAsUsername" not in reduced_realm(REALM, sees_users=False)


def test_locales_are_always_shown() -> None:
    one_language = parse_realm({"internationalizationEnabled": False}, base=REALM)
    assert reduced_realm(one_language, sees_users=False)["supportedLocales"] == ["de"]
    fresh = parse_realm({"realm": "fresh"})
    assert reduced_realm(fresh, sees_users=False)["supportedLocales"] == []


def test_the_head_of_a_realm_is_in_keycloaks_order() -> None:
    assert brief_realm(REALM) == {
        "id": "acme-id",
        "realm": "acme",
        "displayName": "Acme",
        "enabled": False,
    }
    assert named_realm(REALM) == {"realm": "acme"}


def test_a_full_realm_shows_its_default_role_once_and_no_secret() -> None:
    role = default_role(Role("1", "acme-id", "everybody"), composite=False)
    shown = full_realm(REALM.named("other"), role)
    order = list(shown)
    assert order[order.index("defaultRole") + 1] == "requiredCredentials"
    assert shown["defaultRole"] == {
        "id": "1",
        "name": "everybody",
        "composite": False,
        "clientRole": False,
        "containerId": "acme-id",
    }
    assert shown["smtpServer"]["password"] == "**********"
    assert {"defaultRole", "defaultGroups"}.isdisjoint(full_realm(REALM, None))


def test_groups_that_new_users_join_stand_after_their_role() -> None:
    role = default_role(Role("1", "acme-id", "everybody"), composite=False)
    order = list(full_realm(REALM, role, ["/staff"]))
    assert order[order.index("defaultRole") + 1] == "defaultGroups"
