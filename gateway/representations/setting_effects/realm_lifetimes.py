"""Settings of realms that limit time and guesses: name, meaning, source and test."""

from typing import Final

_LIFETIMES: Final = "tests/http/test_lifetimes_over_time.py"
_LOCKOUTS: Final = "tests/http/test_lockouts_over_time.py"
_SIGN_IN_PAGES: Final = "tests/http/test_sign_in_pages.py"
_SPECIFIED: Final = "Spec: 2.1"
_LOCKS: Final = "Spec: 8"
_REPRESENTATION: Final = "Keycloak: 8.1"
_OF_CLIENT: Final = "Keycloak: 3.2"
_GUARD: Final = "Keycloak: 4.1"
_DEVICE: Final = "Keycloak: 12.9"

TOKENS: Final = (
    (
        "accessTokenLifespan",
        "lifetime of an access token; it never outlives its session's maximum",
        _SPECIFIED,
        f"{_LIFETIMES}::test_an_access_token_lasts_for_its_lifespan",
    ),
    (
        "accessTokenLifespanForImplicitFlow",
        "lifetime of an access token that a browser gets without a code",
        _SPECIFIED,
        f"{_LIFETIMES}::test_an_access_token_of_the_implicit_flow_has_a_lifespan_of_its_own",
    ),
    (
        "accessCodeLifespan",
        "time in which a client redeems an authorization code",
        _REPRESENTATION,
        f"{_LIFETIMES}::test_a_code_is_redeemed_within_its_lifespan",
    ),
    (
        "accessCodeLifespanLogin",
        "time for a sign-in, from its first page on",
        _REPRESENTATION,
        f"{_LIFETIMES}::test_a_sign_in_is_completed_within_its_lifespan",
    ),
    (
        "accessCodeLifespanUserAction",
        "time for the page of a required action",
        _REPRESENTATION,
        f"{_LIFETIMES}::test_an_action_is_completed_within_its_lifespan",
    ),
    (
        "actionTokenGeneratedByUserLifespan",
        "lifetime of a link that a user has asked for",
        _REPRESENTATION,
        "tests/http/test_verify_email.py::test_the_realm_says_how_long_a_link_lasts",
    ),
    (
        "actionTokenGeneratedByAdminLifespan",
        "lifetime of a link that an administrator has sent, unless the request says another",
        _REPRESENTATION,
        (
            "tests/http/test_email_actions_of_administrators.py"
            "::test_a_link_lets_the_user_perform_the_actions_and_signs_nobody_in"
        ),
    ),
    (
        "oauth2DeviceCodeLifespan",
        "time in which a user connects a device",
        _DEVICE,
        f"{_LIFETIMES}::test_a_device_code_is_redeemed_within_its_lifespan_and_polled_with_pauses",
    ),
    (
        "oauth2DevicePollingInterval",
        "shortest time between two polls of a device",
        _DEVICE,
        f"{_LIFETIMES}::test_a_device_code_is_redeemed_within_its_lifespan_and_polled_with_pauses",
    ),
    (
        "revokeRefreshToken",
        "a refresh token is replaced by each use, and its reuse ends the client's session",
        "Keycloak: 2.4",
        f"{_LIFETIMES}::test_a_refresh_token_works_as_often_as_the_realm_lets_it",
    ),
    (
        "refreshTokenMaxReuse",
        "further uses of a refresh token that was replaced",
        "Keycloak: 2.4",
        f"{_LIFETIMES}::test_a_refresh_token_works_as_often_as_the_realm_lets_it",
    ),
)

SESSIONS: Final = (
    (
        "ssoSessionIdleTimeout",
        "a session ends that was not used for so long; 0: 30 minutes",
        _SPECIFIED,
        f"{_LIFETIMES}::test_a_session_ends_that_idles_and_one_in_use_does_not",
    ),
    (
        "ssoSessionMaxLifespan",
        "a session ends then, however much it is used; 0: 10 hours",
        _SPECIFIED,
        f"{_LIFETIMES}::test_a_session_in_use_ends_at_its_maximum",
    ),
    (
        "ssoSessionIdleTimeoutRememberMe",
        'the same idle timeout with "remember me", where it is longer; 0: no other one',
        _SPECIFIED,
        f"{_LIFETIMES}::test_remember_me_lengthens_the_idle_timeout",
    ),
    (
        "ssoSessionMaxLifespanRememberMe",
        'the same maximum with "remember me", where it is longer; 0: no other one',
        _SPECIFIED,
        f"{_LIFETIMES}::test_remember_me_lengthens_the_maximum",
    ),
    (
        "offlineSessionIdleTimeout",
        "an offline session ends that was not used for so long; 0: 30 days",
        _SPECIFIED,
        f"{_LIFETIMES}::test_an_offline_session_ends_that_idles",
    ),
    (
        "offlineSessionMaxLifespanEnabled",
        "whether an offline session ends while it is used",
        _SPECIFIED,
        f"{_LIFETIMES}::test_an_offline_session_has_a_maximum_where_that_is_enabled",
    ),
    (
        "offlineSessionMaxLifespan",
        "when it does; 0: 60 days",
        _SPECIFIED,
        f"{_LIFETIMES}::test_the_maximum_of_an_offline_session_counts_from_its_start",
    ),
    (
        "clientSessionIdleTimeout",
        "idle timeout of one client's part of a session; 0: that of the session",
        _OF_CLIENT,
        f"{_LIFETIMES}::test_a_clients_part_of_a_session_ends_that_idles",
    ),
    (
        "clientSessionMaxLifespan",
        "maximum of one client's part of a session; 0: that of the session",
        _OF_CLIENT,
        f"{_LIFETIMES}::test_a_clients_part_of_a_session_ends_at_its_maximum",
    ),
    (
        "clientOfflineSessionIdleTimeout",
        "idle timeout of one client's part of an offline session; 0: that of the session",
        _OF_CLIENT,
        f"{_LIFETIMES}::test_a_clients_part_of_a_session_ends_that_idles",
    ),
    (
        "clientOfflineSessionMaxLifespan",
        "maximum of one client's part of an offline session; 0: that of the session",
        _OF_CLIENT,
        f"{_LIFETIMES}::test_a_clients_part_of_a_session_ends_at_its_maximum",
    ),
    (
        "rememberMe",
        'whether the sign-in page offers "remember me"',
        "Keycloak: 12.12",
        f"{_SIGN_IN_PAGES}::test_nobody_is_remembered_where_the_realm_does_not_offer_it",
    ),
)

GUARDED: Final = (
    (
        "bruteForceProtected",
        "whether failed sign-ins lock accounts",
        _LOCKS,
        f"{_LOCKOUTS}::test_without_protection_nothing_is_counted_and_nobody_is_locked",
    ),
    (
        "bruteForceStrategy",
        (
            "growth of lock-outs; with the values of the reference configuration `MULTIPLE` locks"
            " for 30 minutes by failures 6 to 11, for 60 by 12 to 17, for 90 from 18 on, and"
            " `LINEAR` for 30 by failure 6, for 60 by 7, for 90 from 8 on"
        ),
        _GUARD,
        f"{_LOCKOUTS}::test_linear_lengthens_the_lock_out_with_every_failure",
    ),
    (
        "failureFactor",
        "failures that lock an account",
        _LOCKS,
        f"{_LOCKOUTS}::test_the_failure_factor_is_the_number_of_failures_that_lock",
    ),
    (
        "waitIncrementSeconds",
        "length of the first lock-out, and what each longer one adds",
        _LOCKS,
        f"{_LOCKOUTS}::test_the_wait_increment_is_the_length_of_the_first_lock_out",
    ),
    (
        "maxFailureWaitSeconds",
        "longest lock-out",
        _LOCKS,
        f"{_LOCKOUTS}::test_no_lock_out_is_longer_than_the_longest_wait",
    ),
    (
        "maxDeltaTimeSeconds",
        "after so long without a failure the count starts again",
        _LOCKS,
        f"{_LOCKOUTS}::test_failures_are_counted_together_within_the_delta_time_alone",
    ),
    (
        "quickLoginCheckMilliSeconds",
        "two failures closer together than this lock the account at once",
        _LOCKS,
        f"{_LOCKOUTS}::test_failures_closer_together_than_the_quick_check_lock_at_once",
    ),
    (
        "minimumQuickLoginWaitSeconds",
        "shortest lock-out after two such failures",
        _LOCKS,
        f"{_LOCKOUTS}::test_the_minimum_quick_wait_is_the_length_of_that_lock_out",
    ),
    (
        "permanentLockout",
        "whether an account is disabled at last",
        _GUARD,
        f"{_LOCKOUTS}::test_a_lock_out_becomes_permanent_after_as_many_temporary_ones",
    ),
    (
        "maxTemporaryLockouts",
        "temporary lock-outs before that",
        _GUARD,
        f"{_LOCKOUTS}::test_a_lock_out_becomes_permanent_after_as_many_temporary_ones",
    ),
    (
        "maxSecondaryAuthFailures",
        "more wrong codes than this disable the account; 0: they count as failures only",
        _GUARD,
        f"{_LOCKOUTS}::test_more_wrong_codes_than_the_secondary_failures_lock_for_good",
    ),
)
