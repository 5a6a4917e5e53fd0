"""Each kind of a family has its line in the table of the family, documentation and a test."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from importlib import import_module
from inspect import signature
from pathlib import Path
from pkgutil import walk_packages
from types import FunctionType, ModuleType
from typing import Any, cast

import pytest

from gateway import listeners
from gateway.authentication.authenticators import authenticators
from gateway.authentication.conditions import conditions
from gateway.authentication.registration import form_actions
from gateway.authentication.services import AuthenticationServices
from gateway.client_policies import CONDITIONS as POLICY_CONDITIONS
from gateway.client_policies import EXECUTORS
from gateway.crypto.passwords import ALGORITHMS
from gateway.doctor.attacks import ATTACKS
from gateway.domain.clients import CLIENT_AUTHENTICATORS
from gateway.domain.flows import ACTING
from gateway.domain.limits.password_hashing import HASH_SCHEMES
from gateway.domain.profile_validators import VALIDATORS
from gateway.http.certificate_lookup import LOOKUPS
from gateway.http.forward_auth.dialects import DIALECTS
from gateway.listeners import LISTENERS, Listener, QueueingListener
from gateway.password_policies import POLICIES
from gateway.protocol.claims import CLAIM_MAPPERS
from gateway.protocol.claims.mapper import ClaimMapper, RoleMapper
from gateway.protocol.client_authentication import METHODS
from gateway.protocol.grants import GRANTS
from gateway.settings import SETTING_NAMES, load_settings

ROOT = Path(__file__).resolve().parents[2]
SERVICES = AuthenticationServices(*([cast("Any", None)] * len(fields(AuthenticationServices))))
AUTHENTICATORS = authenticators(SERVICES)
CONDITIONS = conditions(SERVICES, AUTHENTICATORS)
"""None is run: the services that they would use are left out."""


@dataclass(frozen=True, slots=True)
class Registry:
    """The module or package of a family of variants, and the table of its kinds."""

    package: str
    entries: Mapping[str, object]
    tests: Mapping[str, str]
    """The test that fails without a kind; one test of several kinds has a case of each."""
    further: tuple[str, ...] = ()
    """Further modules with kinds of the family."""
    substitutes: frozenset[str] = frozenset()
    """Classes that stand in for kinds without an entry."""

    def modules(self) -> Iterator[ModuleType]:
        """Yield the module, or the package with all its modules."""
        module = import_module(self.package)
        yield module
        yield from map(import_module, self.further)
        for found in walk_packages(getattr(module, "__path__", ()), f"{self.package}."):
            yield import_module(found.name)

    def unregistered(self) -> set[str]:
        """Return the classes with the members of all kinds that no entry is made of.

        Of a family of functions: those with the signature of all entries.
        """
        own = [value for module in self.modules() for value in _defined_in(module)]
        kinds = {_kind_of(entry) for entry in self.entries.values()}
        if functions := {kind for kind in kinds if isinstance(kind, FunctionType)}:
            shapes = {str(signature(function)) for function in functions}
            return {
                value.__qualname__
                for value in own
                if isinstance(value, FunctionType)
                and value not in kinds
                and str(signature(value)) in shapes
            }
        classes = {kind for kind in kinds if isinstance(kind, type)}
        members = set[str].intersection(*(_members(kind) for kind in classes))
        bases = {base for kind in classes for base in kind.__mro__}
        return {
            value.__qualname__
            for value in own
            if isinstance(value, type)
            and not getattr(value, "_is_protocol", False)
            and value not in bases
            and value.__qualname__ not in self.substitutes
            and members <= _members(value)
        }


def _defined_in(module: ModuleType) -> Iterator[type | FunctionType]:
    for value in vars(module).values():
        if isinstance(value, type | FunctionType) and value.__module__ == module.__name__:
            yield value


def _kind_of(entry: object) -> object:
    return entry if isinstance(entry, type | FunctionType) else type(entry)


def _members(kind: type) -> set[str]:
    """Return the public names of a class: those of its body, its bases, and its annotations."""
    return {
        name
        for base in kind.__mro__[:-1]
        for name in (*vars(base), *vars(base).get("__annotations__", ()))
        if not name.startswith("_")
    }


_DECODED = "tests/unit/http/edge/test_certificate_lookups.py::test_what_the_proxy_writes_is_read"
_CERTIFICATE = "tests/http/test_certificates.py::test_a_certificate_alone_gets_a_token_bound_to_it"
_MAPPER = (
    "tests/unit/protocol/test_claim_mappers.py::test_a_mapper_adds_its_claim_if_there_is_a_value"
)
_ROLE_MAPPER = (
    "tests/unit/protocol/test_claim_mappers.py"
    "::test_a_role_mapper_changes_the_others_whatever_its_options"
)
_VALIDATORS = "tests/unit/user_profile/test_validators.py"
_RULES = "tests/unit/policies/test_rules.py"
_RULE = f"{_RULES}::test_a_rule_takes_what_keeps_it_and_refuses_what_does_not"

_ATTACKED = "tests/system/test_edge_attacks.py::test_an_attack_finds_the_mistake_that_it_is_for"
_RESET = "tests/http/test_reset_credentials.py"
_GRANT = "tests/contract/test_password_login.py"
_GRANT_FLOWS = "tests/http/test_direct_grant_flows.py"
_PAGES = "tests/contract/test_resumable_sign_in.py"
_KEYS = "tests/http/test_passkeys.py"

_JUDGED = "tests/http/test_client_policies_of_clients.py"
_CHANGED = f"{_JUDGED}::test_conditions_select_changes_by_their_author"
_FORBIDDEN = f"{_JUDGED}::test_a_forbidden_client_is_neither_created_nor_updated"
_ASKED = "tests/http/test_client_policies_of_requests.py"
_CHOSEN = f"{_ASKED}::test_conditions_choose_the_requests_that_a_policy_judges"
_FAPI = "tests/http/test_client_policies_of_fapi.py"
_OF_FLOWS = "tests/http/test_client_policies_of_flows.py"

REGISTRIES = {
    "conditions of client policies": Registry(
        "gateway.client_policies.conditions",
        POLICY_CONDITIONS,
        {
            "acr-condition": f"{_OF_FLOWS}::test_an_acr_condition_holds_for_requests_of_that_class",
            "any-client": f"{_JUDGED}::test_disabled_policies_and_unmet_conditions_do_nothing",
            **dict.fromkeys(
                (
                    *("client-access-type", "client-attributes", "client-roles", "client-scopes"),
                    *("client-type", "grant-type"),
                ),
                _CHOSEN,
            ),
            **dict.fromkeys(
                (
                    *("client-updater-context", "client-updater-source-groups"),
                    *("client-updater-source-host", "client-updater-source-roles"),
                ),
                _CHANGED,
            ),
        },
    ),
    "executors of client policies": Registry(
        "gateway.client_policies.executors",
        EXECUTORS,
        {
            "auth-flow-enforcer": f"{_OF_FLOWS}"
            "::test_a_policys_flow_replaces_those_of_realm_and_client",
            **dict.fromkeys(
                (
                    *("consent-required", "full-scope-disabled", "reject-implicit-grant"),
                    *("reject-ropc-grant", "pkce-enforcer", "holder-of-key-enforcer"),
                    *("secure-client-authenticator", "secure-client-uris", "reject-request"),
                    *("secure-client-uris-pattern", "secure-redirect-uris-enforcer"),
                    *("secure-signature-algorithm", "secure-logout"),
                    "tls-client-auth-ca-subject-dn",
                ),
                _FORBIDDEN,
            ),
            **dict.fromkeys(
                ("confidential-client", "secure-session"),
                f"{_ASKED}::test_each_executor_checks_authorization_requests",
            ),
            "secure-response-type": f"{_ASKED}"
            "::test_responses_are_signed_by_an_id_token_or_as_a_jwt",
            "secret-rotation": "tests/spec/test_client_secret_rotation.py"
            "::test_a_policy_reaches_the_clients_that_its_condition_names",
            "dpop-bind-enforcer": f"{_FAPI}"
            "::test_every_token_is_bound_to_a_proof_under_a_dpop_profile",
            "secure-client-authentication-assertion": f"{_FAPI}"
            "::test_an_assertion_names_the_issuer_alone",
            "secure-par-content": f"{_FAPI}::test_no_parameter_comes_through_the_browser_alone",
            "secure-request-object": f"{_FAPI}::test_a_request_object_lasts_at_most_an_hour",
            "secure-signature-algorithm-signed-jwt": f"{_FAPI}"
            "::test_assertions_and_requests_are_signed_by_secure_algorithms",
            "use-lightweight-access-token": f"{_ASKED}"
            "::test_lightweight_tokens_are_issued_where_a_policy_wants_them",
        },
    ),
    "grants": Registry(
        "gateway.protocol.grants",
        GRANTS,
        {
            "authorization_code": "tests/http/test_authorization_code_grant.py"
            "::test_a_code_is_exchanged_for_tokens",
            "client_credentials": "tests/http/test_access_tokens.py"
            "::test_the_response_has_keycloaks_members_in_order",
            "urn:ietf:params:oauth:grant-type:device_code": "tests/http/test_device_grant.py"
            "::test_a_user_connects_a_device",
            "password": "tests/http/test_password_grant.py"
            "::test_the_response_has_every_member_in_keycloaks_order",
            "refresh_token": "tests/http/test_refresh_grant.py"
            "::test_a_refresh_gives_new_tokens_of_the_same_session",
            "urn:ietf:params:oauth:grant-type:token-exchange": "tests/spec/test_token_exchange.py"
            "::test_a_service_gets_a_token_of_its_own_for_the_same_user",
        },
    ),
    "client authentication": Registry(
        "gateway.protocol.client_authentication",
        METHODS,
        {
            "client-secret": "tests/http/test_token_endpoint.py::test_a_basic_header_authenticates",
            "client-x509": _CERTIFICATE,
            "client-jwt": "tests/http/test_client_assertions.py"
            "::test_a_jwt_of_a_registered_key_authenticates_the_client",
            "client-secret-jwt": "tests/http/test_client_assertions.py"
            "::test_a_mac_with_the_secret_authenticates_the_client",
        },
    ),
    "claim mappers": Registry(
        "gateway.protocol.claims",
        {mapper_type: mapper.prepare for mapper_type, mapper in CLAIM_MAPPERS.items()},
        {
            **dict.fromkeys(
                (
                    *("oidc-sub-mapper", "oidc-acr-mapper", "oidc-amr-mapper"),
                    *("oidc-allowed-origins-mapper", "oidc-session-state-mapper"),
                    *("oidc-audience-mapper", "oidc-audience-resolve-mapper"),
                    *("oidc-usermodel-realm-role-mapper", "oidc-usermodel-client-role-mapper"),
                    *("oidc-full-name-mapper", "oidc-group-membership-mapper"),
                    *("oidc-usermodel-property-mapper", "oidc-usersessionmodel-note-mapper"),
                    *("oidc-usermodel-attribute-mapper", "oidc-address-mapper"),
                    "oidc-hardcoded-claim-mapper",
                ),
                _MAPPER,
            ),
            **dict.fromkeys(("oidc-hardcoded-role-mapper", "oidc-role-name-mapper"), _ROLE_MAPPER),
            "oidc-claims-param-token-mapper": "tests/unit/protocol/test_requested_claims.py"
            "::test_essential_claims_are_added_to_the_named_document",
            "oidc-claims-param-value-idtoken-mapper": "tests/unit/protocol/test_requested_claims.py"
            "::test_the_value_of_one_claim_is_copied_to_the_id_token",
            "oidc-sha256-pairwise-sub-mapper": "tests/unit/protocol/test_subject_identifiers.py"
            "::test_the_subject_is_the_one_of_keycloak",
        },
    ),
    "password rules": Registry(
        "gateway.password_policies",
        {rule.name: rule for rule in POLICIES},
        {
            **dict.fromkeys(
                (
                    *("length", "maxLength", "digits", "lowerCase", "upperCase", "specialChars"),
                    *("notUsername", "notContainsUsername", "notEmail", "regexPattern"),
                ),
                _RULE,
            ),
            "passwordBlacklist": f"{_RULES}"
            "::test_a_password_of_the_list_is_refused_in_any_capitals",
            "passwordHistory": f"{_RULES}"
            "::test_the_last_passwords_are_refused_the_current_one_counts",
            "passwordAge": f"{_RULES}::test_passwords_of_the_last_days_are_refused",
        },
    ),
    "password hashes": Registry(
        "gateway.crypto.passwords",
        {name: type(algorithm) for name, algorithm in ALGORITHMS.items()},
        dict.fromkeys(
            (scheme.name for scheme in HASH_SCHEMES),
            "tests/unit/crypto/test_passwords.py"
            "::test_foreign_hashes_verify_only_with_their_password",
        ),
    ),
    "validators of user profiles": Registry(
        "gateway.domain.profile_validators",
        VALIDATORS,
        {
            **dict.fromkeys(
                (
                    *("length", "integer", "double", "pattern", "email", "uri", "options"),
                    *("local-date", "iso-date", "username-prohibited-characters"),
                    *("person-name-prohibited-characters", "up-username-not-idn-homograph"),
                ),
                f"{_VALIDATORS}::test_a_validator_refuses_what_does_not_in_keycloaks_words",
            ),
            "multivalued": f"{_VALIDATORS}::test_multivalued_counts_the_values",
            **dict.fromkeys(
                ("not-empty", "not-blank"),
                f"{_VALIDATORS}::test_not_empty_needs_a_value_and_not_blank_a_visible_one",
            ),
        },
    ),
    "authenticators": Registry(
        "gateway.authentication.authenticators",
        AUTHENTICATORS,
        {
            "direct-grant-validate-username": f"{_GRANT}"
            "::test_a_user_name_like_anothers_address_is_still_the_name",
            "direct-grant-validate-password": f"{_GRANT}"
            "::test_a_wrong_password_is_refused_and_counted",
            "direct-grant-validate-otp": f"{_GRANT_FLOWS}"
            "::test_a_required_code_is_asked_of_all_users",
            "direct-grant-auth-x509-username": "tests/http/test_certificate_sign_in.py"
            "::test_the_common_name_of_a_certificate_is_the_user_name",
            "auth-x509-client-username-form": "tests/http/test_certificate_sign_in_pages.py"
            "::test_the_page_shows_certificate_and_user_and_continues",
            "allow-access-authenticator": f"{_GRANT_FLOWS}"
            "::test_allow_access_allows_it_after_the_password_alone",
            "deny-access-authenticator": f"{_GRANT_FLOWS}::test_deny_access_says_what_is_set",
            "user-session-limits": f"{_GRANT_FLOWS}"
            "::test_session_limits_refuse_one_session_too_many",
            "auth-cookie": f"{_PAGES}::test_the_session_of_the_browser_is_enough",
            "auth-username-password-form": f"{_PAGES}"
            "::test_the_standard_flow_asks_name_and_password_and_signs_in",
            "auth-username-form": f"{_PAGES}::test_a_name_that_no_user_has_goes_on_as_any_other",
            "auth-password-form": f"{_PAGES}::test_a_page_of_the_password_alone_counts_and_refuses",
            "auth-otp-form": f"{_PAGES}::test_a_user_with_a_device_is_asked_for_its_code",
            "auth-recovery-authn-code-form": "tests/http/test_recovery_codes.py"
            "::test_codes_are_asked_for_by_number_and_used_once",
            "registration-page-form": "tests/http/test_registration.py"
            "::test_a_user_registers_and_is_signed_in",
            "reset-credentials-choose-user": f"{_RESET}::test_every_name_gets_the_same_answer",
            "reset-credential-email": f"{_RESET}"
            "::test_the_link_goes_on_in_the_browser_that_asked_for_it",
            "reset-password": f"{_RESET}::test_a_link_is_void_once_the_password_was_changed",
            "reset-otp": f"{_RESET}::test_a_device_is_set_up_anew",
            "webauthn-authenticator": f"{_KEYS}"
            "::test_a_security_key_is_stored_as_in_keycloak_and_signs_in",
            "webauthn-authenticator-passwordless": f"{_KEYS}"
            "::test_a_passkey_signs_in_its_user_without_a_name",
        },
        further=("gateway.authentication.registration",),
        substitutes=frozenset({"Unavailable"}),
    ),
    "form actions": Registry(
        "gateway.authentication.registration",
        {each.id: each for each in form_actions(SERVICES.new_passwords)},
        {
            "registration-user-creation": "tests/http/test_registration.py"
            "::test_names_of_others_are_taken",
            "registration-password-action": "tests/http/test_registration.py"
            "::test_every_refusal_says_where_it_is_wrong_and_stores_nothing",
            "registration-terms-and-conditions": "tests/http/test_registration.py"
            "::test_the_terms_are_accepted_with_the_form",
        },
    ),
    "conditions of flows": Registry(
        "gateway.authentication.conditions",
        CONDITIONS,
        {
            **{
                kind: f"{_GRANT_FLOWS}::{test}"
                for kind, test in {
                    "conditional-user-configured": "test_a_sub_flow_of_skipped_sub_flows_fails",
                    "conditional-user-role": "test_a_condition_asks_for_a_role_that_the_user_has",
                    "conditional-user-attribute": "test_a_condition_asks_for_the_value_of_an"
                    "_attribute",
                    "conditional-client-scope": "test_a_condition_asks_for_a_client_scope_of_the"
                    "_request",
                    "conditional-sub-flow-executed": "test_a_condition_asks_whether_another_sub"
                    "_flow_succeeded",
                    "conditional-credential": "test_a_condition_asks_for_the_credentials"
                    "_that_were_used",
                }.items()
            },
            "conditional-level-of-authentication": "tests/contract"
            "/test_levels_of_authentication.py"
            "::test_a_higher_level_is_reached_by_what_it_requires_alone",
        },
    ),
    "event listeners": Registry(
        "gateway.listeners",
        LISTENERS,
        {
            "jboss-logging": "tests/unit/listeners/test_dispatch.py"
            "::test_the_log_has_failures_as_warnings",
            "email": "tests/http/test_event_listeners.py"
            "::test_a_failed_sign_in_is_a_mail_in_the_language_of_the_user",
            "webhook": "tests/http/test_event_listeners.py"
            "::test_webhooks_get_signed_events_again_until_confirmed",
            "file": "tests/http/test_event_listeners.py"
            "::test_every_event_is_a_line_of_a_file_that_may_be_renamed",
        },
    ),
    "attacks of the doctor": Registry(
        "gateway.doctor.attacks",
        {attack.name: attack.run for attack in ATTACKS},
        dict.fromkeys((attack.name for attack in ATTACKS), _ATTACKED),
    ),
    "certificate lookups": Registry(
        "gateway.http.certificate_lookup",
        LOOKUPS,
        dict.fromkeys(LOOKUPS, _DECODED),
    ),
    "forward-auth dialects": Registry(
        "gateway.http.forward_auth.dialects",
        {dialect.name: dialect for dialect in DIALECTS},
        dict.fromkeys(
            ("nginx", "traefik", "caddy", "haproxy", "apache", "envoy"),
            "tests/http/test_decision_endpoint.py::test_every_dialect_gets_the_same_decisions",
        ),
    ),
}


def _has_distinct_classes(registry: Registry) -> bool:
    kinds = [_kind_of(entry) for entry in registry.entries.values()]
    return all(isinstance(kind, type) for kind in kinds) and len(set(kinds)) == len(kinds)


DISTINCT = [name for name, registry in REGISTRIES.items() if _has_distinct_classes(registry)]


@pytest.fixture(params=REGISTRIES, name="registry")
def each_registry(request: pytest.FixtureRequest) -> Registry:
    """Give each registry in turn."""
    return REGISTRIES[request.param]


def test_every_kind_of_a_family_is_registered(registry: Registry) -> None:
    assert registry.unregistered() == set()


@pytest.mark.parametrize("registry", DISTINCT, indirect=True)
def test_a_kind_without_its_line_is_found(registry: Registry) -> None:
    """Of families with a class for each kind; values and functions have no members to compare."""
    for name in registry.entries:
        left = {key: entry for key, entry in registry.entries.items() if key != name}
        assert replace(registry, entries=left).unregistered() != set()


def test_every_claim_mapper_is_registered() -> None:
    """Mappers are values: one that a module defines is in the table."""
    modules = REGISTRIES["claim mappers"].modules()
    values = [value for module in modules for value in vars(module).values()]
    defined = {value.mapper_type for value in values if isinstance(value, ClaimMapper | RoleMapper)}
    assert defined == CLAIM_MAPPERS.keys()


def test_every_event_listener_is_registered() -> None:
    """A function may make one by the settings; `Dispatch` passes events on to all of them."""
    made = " ".join(str(entry.__annotations__.get("return", entry)) for entry in LISTENERS.values())
    defined = [value for value in _defined_in(listeners) if isinstance(value, type)]
    kinds = {
        value.__name__
        for value in defined
        if not getattr(value, "_is_protocol", False)
        and any(_members(protocol) <= _members(value) for protocol in (Listener, QueueingListener))
    }
    assert {kind for kind in kinds - {"Dispatch"} if kind not in made} == set()


def test_every_kind_is_documented(registry: Registry) -> None:
    assert _absent(registry.entries, (ROOT / "docs").glob("*.md")) == set()


def test_every_kind_is_tested(registry: Registry) -> None:
    assert set(registry.tests) == set(registry.entries)
    several = Counter(registry.tests.values())
    for kind, test in registry.tests.items():
        texts = _texts_of(test)
        assert several[test] == 1 or kind in texts, f"{test} has no case of {kind}"


def _texts_of(test: str) -> set[str]:
    """Return the texts that a test contains, and what it uses of its module; it must be there."""
    file, _, name = test.partition("::")
    defined = dict(_definitions(ast.parse((ROOT / file).read_text(encoding="utf-8"))))
    assert isinstance(defined.get(name), ast.FunctionDef | ast.AsyncFunctionDef), f"no {test}"
    texts: set[str] = set()
    open_names, seen = [name], set[str]()
    while open_names:
        used = open_names.pop()
        if used in seen or used not in defined:
            continue
        seen.add(used)
        for node in ast.walk(defined[used]):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(node.value)
            elif isinstance(node, ast.Name):
                open_names.append(node.id)
    return texts


def _definitions(module: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    for node in module.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield name, node
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name, node


@pytest.mark.parametrize("name", LOOKUPS)
def test_settings_offer_every_certificate_lookup_with_its_header(name: str) -> None:
    lookup = LOOKUPS[name]
    assert lookup.name == name
    for variable in (f"KC_SPI_X509CERT_LOOKUP_{dash}PROVIDER" for dash in ("", "_")):
        settings = load_settings(environment={variable: name}, env_file=Path("/nonexistent"))
        assert (settings.certificate_lookup, settings.certificate_header) == (
            name,
            lookup.default_header,
        )
    assert set(lookup.options.values()) <= set(SETTING_NAMES)


def test_every_client_authentication_method_has_an_authenticator() -> None:
    known = {each.id: each.methods for each in CLIENT_AUTHENTICATORS}
    assert {name: method.names for name, method in METHODS.items()}.items() <= known.items()


def test_what_is_known_to_act_in_a_flow_is_run_and_nothing_else() -> None:
    assert {*AUTHENTICATORS, *CONDITIONS} == ACTING


def _absent(names: Iterable[str], files: Iterable[Path]) -> set[str]:
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    return {name for name in names if f"`{name}`" not in text and f'"{name}"' not in text}
