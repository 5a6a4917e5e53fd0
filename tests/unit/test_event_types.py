"""The names of user events. Keycloak: EventType, and what its events/config answers (26.7)."""

from gateway.domain.events import ALL_NAMES, EVENT_NAMES, KIND_OF, SAVED_BY_DEFAULT, EventType

_NOT_SAVED = {
    *("CLIENT_INFO", "IDENTITY_PROVIDER_RESPONSE", "IDENTITY_PROVIDER_RETRIEVE_TOKEN"),
    *("INTROSPECT_TOKEN", "INVALID_SIGNATURE", "PUSHED_AUTHORIZATION_REQUEST", "REFRESH_TOKEN"),
    *("REGISTER_NODE", "UNREGISTER_NODE", "USER_INFO_REQUEST", "USER_SESSION_DELETED"),
    *("VALIDATE_ACCESS_TOKEN", "VERIFIABLE_CREDENTIAL_NONCE_REQUEST"),
}
_SAVED_WITHOUT_FAILURES = {
    *("PERMISSION_TOKEN", "USER_DISABLED_BY_PERMANENT_LOCKOUT"),
    "USER_DISABLED_BY_TEMPORARY_LOCKOUT",
}


def test_there_are_as_many_names_as_in_keycloak() -> None:
    assert (len(EventType), len(ALL_NAMES), len(SAVED_BY_DEFAULT)) == (66, 132, 103)
    assert list(ALL_NAMES) == sorted(set(ALL_NAMES))


def test_every_type_is_spelled_as_its_member_with_its_error_type() -> None:
    for kind in EventType:
        assert kind == kind.name
        assert KIND_OF[EVENT_NAMES[kind, False]] is kind
        assert KIND_OF[f"{kind}_ERROR"] is kind


def test_those_are_saved_by_default_that_keycloak_saves() -> None:
    left_out = {f"{name}{end}" for name in _NOT_SAVED for end in ("", "_ERROR")}
    left_out |= {f"{name}_ERROR" for name in _SAVED_WITHOUT_FAILURES}
    assert set(ALL_NAMES) - set(SAVED_BY_DEFAULT) == left_out
