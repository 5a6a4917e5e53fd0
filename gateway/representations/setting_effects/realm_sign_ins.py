"""Settings of realms for sign-ins, events and pages: name, meaning, source and test."""

from typing import Final

_LIFETIMES: Final = "tests/http/test_lifetimes_over_time.py"
_SETTINGS: Final = "tests/http/test_realm_settings_over_time.py"
_PAGES: Final = "tests/http/test_settings_of_pages.py"
_SIGN_IN_PAGES: Final = "tests/http/test_sign_in_pages.py"
_USERS: Final = "tests/http/test_admin_user_changes.py"
_FLOWS: Final = "tests/http/test_flows_in_use.py"
_SPECIFIED: Final = "Spec: 2.1"
_AUTHORITIES: Final = "tests/http/test_certificate_authorities.py"
_REPRESENTATION: Final = "Keycloak: 8.1"
_CODES: Final = "Keycloak: 6"

GENERAL: Final = (
    (
        "id",
        "identifier; the one that is given when the realm is created, and never another",
        _SPECIFIED,
        f"{_SETTINGS}::test_a_realm_has_the_id_and_the_name_that_it_is_given",
    ),
    (
        "realm",
        "name, in every URL of the realm and in the issuer of its tokens",
        _SPECIFIED,
        f"{_SETTINGS}::test_a_realm_has_the_id_and_the_name_that_it_is_given",
    ),
    (
        "enabled",
        "a disabled realm issues no tokens and signs in no users",
        _REPRESENTATION,
        f"{_SIGN_IN_PAGES}::test_a_realm_that_may_not_be_used_says_so_on_a_page",
    ),
    (
        "notBefore",
        "tokens issued before this instant are rejected",
        _REPRESENTATION,
        f"{_LIFETIMES}::test_what_was_issued_before_not_before_is_refused",
    ),
    (
        "sslRequired",
        "requests that must use TLS: `all`, `external` (those from public addresses) or `none`",
        _SPECIFIED,
        f"{_SETTINGS}::test_requests_without_tls_are_refused_where_it_is_required",
    ),
    (
        "defaultSignatureAlgorithm",
        "algorithm that signs tokens, unless the client has one of its own",
        _SPECIFIED,
        f"{_SETTINGS}::test_tokens_are_signed_by_the_default_algorithm",
    ),
    (
        "browserSecurityHeaders",
        "headers of every response; policies for content only with pages",
        "Spec: 2.2",
        f"{_SETTINGS}::test_pages_carry_the_headers_of_the_realm",
    ),
    (
        "defaultRole",
        "role that every new user has; its composites are what new users may do",
        _REPRESENTATION,
        f"{_USERS}::test_a_new_user_has_the_default_role_and_groups_and_those_that_are_named",
    ),
    (
        "attributes",
        "attributes; those that act have rows below",
        _REPRESENTATION,
        (
            "tests/http/test_admin_realms.py"
            "::test_attributes_are_replaced_but_for_those_that_every_realm_has"
        ),
    ),
)

CREDENTIALS: Final = (
    (
        "passwordPolicy",
        "rules for new passwords, their hash, and the age at which they expire",
        "Spec: 2.3",
        f"{_SETTINGS}::test_a_password_expires_after_the_days_of_the_policy",
    ),
    (
        "otpPolicyType",
        "kind of codes of a new device: `totp` by the time, `hotp` by a counter",
        _SPECIFIED,
        f"{_SETTINGS}::test_a_device_counts_where_the_policy_says_so",
    ),
    (
        "otpPolicyAlgorithm",
        "hash of a new device",
        _SPECIFIED,
        f"{_SETTINGS}::test_a_new_device_makes_codes_as_the_policy_says",
    ),
    (
        "otpPolicyDigits",
        "length of the codes of a new device",
        _SPECIFIED,
        f"{_SETTINGS}::test_a_new_device_makes_codes_as_the_policy_says",
    ),
    (
        "otpPolicyPeriod",
        "how long a code of a new device lasts",
        _SPECIFIED,
        f"{_SETTINGS}::test_a_new_device_makes_codes_as_the_policy_says",
    ),
    (
        "otpPolicyInitialCounter",
        "counter with which a new device begins",
        _CODES,
        f"{_SETTINGS}::test_a_device_counts_where_the_policy_says_so",
    ),
    (
        "otpPolicyLookAheadWindow",
        "codes before and after the current one that are accepted; of a counter, those after it",
        _SPECIFIED,
        f"{_SETTINGS}::test_codes_are_accepted_within_the_look_ahead_window",
    ),
    (
        "otpPolicyCodeReusable",
        "whether a code is accepted twice while it lasts",
        _CODES,
        f"{_SETTINGS}::test_a_code_is_taken_once_unless_the_realm_lets_it_be_reused",
    ),
)

EVENTS: Final = (
    (
        "eventsEnabled",
        "whether events of users are stored",
        _SPECIFIED,
        f"{_SETTINGS}::test_sign_ins_are_recorded_while_events_are_enabled",
    ),
    (
        "eventsExpiration",
        "how long they are kept; 0: without limit",
        _SPECIFIED,
        f"{_SETTINGS}::test_events_are_deleted_when_they_expire",
    ),
    (
        "enabledEventTypes",
        "kinds of events that are stored; none: those that Keycloak stores by default",
        "Keycloak: 10.5",
        "tests/http/test_admin_events.py::test_a_change_counts_from_the_next_request_on",
    ),
    (
        "eventsListeners",
        "listeners that receive events",
        _SPECIFIED,
        (
            "tests/http/test_event_listeners.py"
            "::test_a_listener_receives_events_while_the_realm_names_it"
        ),
    ),
    (
        "adminEventsEnabled",
        "whether changes by administrators are stored",
        _SPECIFIED,
        f"{_SETTINGS}::test_changes_are_recorded_while_admin_events_are_enabled",
    ),
    (
        "adminEventsDetailsEnabled",
        "whether with what was sent, secrets masked",
        _SPECIFIED,
        f"{_SETTINGS}::test_admin_events_hold_what_was_sent_where_details_are_enabled",
    ),
)

SIGN_INS: Final = (
    (
        "loginWithEmailAllowed",
        "whether users may sign in with their e-mail address",
        _REPRESENTATION,
        f"{_PAGES}::test_users_sign_in_by_their_address_where_the_realm_allows_it",
    ),
    (
        "duplicateEmailsAllowed",
        "whether two users may have the same address",
        _REPRESENTATION,
        f"{_USERS}::test_an_address_that_another_has_is_refused",
    ),
    (
        "registrationEmailAsUsername",
        "whether the address is the user name",
        _REPRESENTATION,
        f"{_USERS}::test_where_the_address_is_the_name_both_go_together",
    ),
    (
        "editUsernameAllowed",
        "whether user names may be changed",
        _REPRESENTATION,
        f"{_USERS}::test_a_name_is_changed_only_where_the_realm_allows_it",
    ),
    (
        "verifyEmail",
        "whether users must verify their address",
        _REPRESENTATION,
        f"{_FLOWS}::test_an_unconfirmed_address_keeps_out_while_that_action_is_on",
    ),
    (
        "registrationAllowed",
        "whether users may register themselves",
        _REPRESENTATION,
        (
            "tests/http/test_registration.py"
            "::test_a_realm_that_does_not_permit_it_shows_no_page_and_no_link"
        ),
    ),
    (
        "registrationFlow",
        "flow of registrations",
        _REPRESENTATION,
        (
            "tests/http/test_registration.py"
            "::test_a_flow_with_an_action_that_cannot_act_closes_the_registration"
        ),
    ),
    (
        "resetPasswordAllowed",
        "whether users may reset a password that they have forgotten",
        _REPRESENTATION,
        "tests/http/test_reset_credentials.py::test_a_realm_that_does_not_permit_it_shows_no_link",
    ),
    (
        "resetCredentialsFlow",
        "flow of resets",
        _REPRESENTATION,
        "tests/http/test_reset_credentials.py::test_a_device_is_set_up_anew",
    ),
    (
        "browserFlow",
        "flow of sign-ins in a browser",
        _REPRESENTATION,
        "tests/http/test_stale_sign_ins.py::test_a_sign_in_does_not_finish_with_a_flow_that_has_changed",
    ),
    (
        "directGrantFlow",
        "flow of the password grant",
        _REPRESENTATION,
        f"{_FLOWS}::test_a_copy_acts_once_it_is_in_use",
    ),
    (
        "clientAuthenticationFlow",
        "methods by which clients authenticate",
        _REPRESENTATION,
        f"{_FLOWS}::test_a_copy_of_the_flow_of_clients_acts_once_it_is_in_use",
    ),
)

SHOWN: Final = (
    (
        "displayName",
        "name of the realm on pages and in mails",
        _REPRESENTATION,
        f"{_PAGES}::test_a_page_names_the_realm_and_shows_its_markup_as_text",
    ),
    (
        "internationalizationEnabled",
        "whether pages and mails have other languages than English",
        _REPRESENTATION,
        f"{_PAGES}::test_a_page_is_in_a_language_of_the_realm_or_in_its_own",
    ),
    (
        "supportedLocales",
        "languages that users may choose",
        _REPRESENTATION,
        f"{_PAGES}::test_a_page_is_in_a_language_of_the_realm_or_in_its_own",
    ),
    (
        "defaultLocale",
        "language of users who choose none",
        _REPRESENTATION,
        f"{_PAGES}::test_a_page_is_in_a_language_of_the_realm_or_in_its_own",
    ),
    (
        "loginTheme",
        "theme of the sign-in pages",
        _REPRESENTATION,
        (
            "tests/http/test_login_themes.py"
            "::test_a_theme_is_served_and_listed_for_clients_that_look_it_up"
        ),
    ),
    (
        "accountTheme",
        "theme of the account console; that of the sign-in pages where it is not given",
        _REPRESENTATION,
        "tests/http/test_login_themes.py::test_the_account_console_may_have_a_theme_of_its_own",
    ),
    (
        "emailTheme",
        "theme of the realm's mails",
        _REPRESENTATION,
        (
            "tests/http/test_mail_themes.py"
            "::test_a_realm_names_the_theme_of_its_mails_and_any_other_name_is_the_built_in_design"
        ),
    ),
    (
        "smtpServer",
        "server that sends the realm's mails",
        "Keycloak: 7.1",
        (
            "tests/http/test_admin_mail.py"
            "::test_a_mail_of_the_queue_is_sent_by_a_worker_and_a_refused_one_is_listed"
        ),
    ),
)

ATTRIBUTES: Final = (
    (
        "actionTokenGeneratedByUserLifespan.*",
        "seconds that a link of one kind lasts, such as `verify-email`",
        _REPRESENTATION,
        "tests/http/test_verify_email.py::test_the_realm_says_how_long_a_link_lasts",
    ),
    (
        "adminEventsExpiration",
        "how many seconds events of administrators are kept; nothing: without limit",
        "Keycloak: 10.4",
        f"{_SETTINGS}::test_events_are_deleted_when_they_expire",
    ),
    (
        "parRequestUriLifespan",
        "seconds in which a pushed authorization request is used",
        "Keycloak: 12.8",
        (
            "tests/http/test_pushed_authorization_requests.py"
            "::test_a_request_gets_a_reference_of_its_own"
        ),
    ),
    (
        "acr.loa.map",
        "names of the levels of authentication, as JSON",
        "Keycloak: 12.10",
        (
            "tests/http/test_browser_sessions.py"
            "::test_the_level_of_a_sign_in_has_the_name_of_client_or_realm"
        ),
    ),
    (
        "realmgate.webhook.secret",
        "the key that signs requests to the webhook; it is never shown",
        "Keycloak: 10.6",
        "tests/http/test_event_listeners.py::test_the_secret_of_a_webhook_is_shown_nowhere_and_kept_by_its_mask",
    ),
    (
        "realmgate.bruteForce.failuresPerAddress",
        "failures of one address that lock it out for one user; 0 or nothing: none do",
        "Keycloak: 4.1",
        (
            "tests/http/test_address_lockouts_over_time.py"
            "::test_as_many_failures_as_the_limit_lock_one_address_out_and_no_other"
        ),
    ),
    (
        "realmgate.dpop.nonce",
        '"true": every DPoP proof has to contain a nonce of the realm',
        "Keycloak: 2.5",
        "tests/spec/test_dpop_nonces.py::test_a_proof_needs_a_nonce_of_its_realm",
    ),
    (
        "realmgate.certificates.gatewayAuthorities",
        (
            '"true", "false": whether anchors of the settings count for client certificates;'
            " nothing: where the realm has none of its own"
        ),
        "Keycloak: 11.1",
        f"{_AUTHORITIES}::test_a_realm_says_whether_the_anchors_of_the_settings_count",
    ),
    (
        "realmgate.certificates.policies",
        "object identifiers; the path of a client certificate must be valid for one of them",
        "Keycloak: 11.1",
        f"{_AUTHORITIES}::test_a_realm_requires_policies_of_certificates",
    ),
    (
        "userProfileEnabled",
        '"false": the user profile has no rules for attributes',
        _REPRESENTATION,
        f"{_PAGES}::test_a_profile_has_rules_unless_the_realm_has_none",
    ),
    (
        "darkMode",
        '"false": pages are light',
        _REPRESENTATION,
        f"{_PAGES}::test_a_realm_chooses_colors_and_a_logo",
    ),
)
