"""Every use of something that was permitted before asks the one rule: `authentication/validity.py`.

A module that compares the state of realms, clients, users, sessions, devices or certificates by
itself is a rule of its own, which the next change of the rule would miss.
"""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import pytest

_ROOT: Final = Path(__file__).resolve().parents[2]
_RULE: Final = "gateway/authentication/validity.py"
_OWNERS: Final = frozenset({"realm", "client", "user", "account", "owner"})
_STATE: Final = frozenset({"enabled", "not_before", "service_accounts_enabled"})
_LOOKUPS: Final = frozenset(
    {"is_locked", "denies", "find_stored", "if_lasting", "has_lasting_part"}
)
_STORES: Final = frozenset({"online", "offline_sessions"})
_PACKAGES: Final = (
    *("accounts", "admin", "authentication", "certificates", "client_policies"),
    *("forward_auth", "http", "protocol"),
)
_ASKERS: Final[Mapping[str, str]] = {
    "gateway/accounts/access.py": "account API and console",
    "gateway/authentication/engine/proofs.py": "sign-ins that go on",
    "gateway/authentication/sign_in_obstacles.py": "explanations of sign-ins",
    "gateway/forward_auth/browser.py": "the client of a site",
    "gateway/forward_auth/client_certificates.py": "sites by certificate",
    "gateway/forward_auth/session_cookies.py": "sites by session",
    "gateway/forward_auth/callers.py": "the realm of a site",
    "gateway/forward_auth/user_explanation.py": "explanations of decisions",
    "gateway/protocol/account_console.py": "the client of the account console",
    "gateway/protocol/action_tokens.py": "links of mails",
    "gateway/protocol/client_authentication/method.py": "passes the rule on",
    "gateway/protocol/client_authentication/certificates.py": "locked devices",
    "gateway/protocol/grants/device_code.py": "approved devices",
    "gateway/protocol/grants/token_exchange.py": "audiences of an exchange",
    "gateway/protocol/scopes.py": "the name of the scope of offline access",
    "gateway/protocol/session_tokens.py": "new offline sessions, and passes the rule on",
    "gateway/protocol/identity_cookie.py": "single sign-on, and frames of clients",
    "gateway/protocol/code_redemption.py": "codes and approved devices",
    "gateway/protocol/tokens/access_token_checks.py": "access tokens",
    "gateway/protocol/tokens/refresh_token_checks.py": "refresh tokens",
}
"""Module -> the use that asks the rule."""
_OTHERS: Final[Mapping[str, str]] = {
    "gateway/accounts/sessions.py": "lists and ends sessions",
    "gateway/admin/clients/listing.py": "lists clients",
    "gateway/admin/clients/preparation.py": "writes clients",
    "gateway/admin/realm_files/partial_import.py": "keeps what replaced service accounts have",
    "gateway/admin/realms/administrators.py": "counts administrators",
    "gateway/admin/registration/registrars.py": "registration tokens, which are no sign-in",
    "gateway/admin/sessions.py": "ends sessions",
    "gateway/admin/site_findings.py": "explains to operators",
    "gateway/admin/users/credentials.py": "sends links, which are checked when opened",
    "gateway/admin/users/lockouts.py": "lists lock-outs",
    "gateway/authentication/account_updates.py": "row lock of a change",
    "gateway/authentication/authenticators/certificates.py": "a new sign-in",
    "gateway/authentication/authenticators/cookie_and_access.py": "a user of the cookie's check",
    "gateway/authentication/authenticators/reset_credentials.py": "a new sign-in",
    "gateway/authentication/sign_in_engine.py": "a new sign-in",
    "gateway/authentication/engine/proofs.py": "a new sign-in",
    "gateway/authentication/sign_in_obstacles.py": "explains to operators",
    "gateway/authentication/registration.py": "a mail to the owner of an address",
    "gateway/authentication/brute_force_protection.py": "writes permanent lock-outs",
    "gateway/certificates/registered_names.py": "whose certificate it is",
    "gateway/forward_auth/browser.py": "ends sessions",
    "gateway/http/account_console.py": "a session that the cookie's check returned",
    "gateway/http/admin/authentication.py": "the realm that issued, before the token is read",
    "gateway/http/certificate_refusal.py": "whose look and language a page has",
    "gateway/http/pages/pages.py": "whether a page links to the account console",
    "gateway/http/realm_endpoint.py": "in front of every endpoint",
    "gateway/protocol/authorization/checks.py": "a new request",
    "gateway/protocol/certificate_explanation.py": "explains to operators",
    "gateway/protocol/certificate_refusal.py": "explains to operators",
    "gateway/protocol/claims/user_claims.py": "a claim",
    "gateway/protocol/client_authentication/__init__.py": "authenticates the client",
    "gateway/protocol/discovery.py": "metadata",
    "gateway/protocol/grants/client_credentials.py": "a new token of the account itself",
    "gateway/protocol/impersonation.py": "a new session, for an administrator",
    "gateway/protocol/logout.py": "ends sessions, and frames of clients",
    "gateway/protocol/sessions.py": "stores sessions",
    "gateway/protocol/tokens/issuing.py": "`not-before-policy` of the response",
    "gateway/protocol/userinfo.py": "Keycloak's answer for a disabled realm",
}
"""Module -> why it reads the state without using what was permitted before."""
_READERS: Final = frozenset(
    {"verify_of_ourselves", "verify_refresh_token", "read_refresh_token", "read_action_token"}
)
_READERS_OF: Final = frozenset(
    {
        *(("key_ring", "verify_token"), ("access_tokens", "verify_token"), ("codes", "redeem")),
        *(("authorization_codes", "redeem"), ("device_authorizations", "redeem")),
        ("sites", "find_session"),
    }
)
"""Owner and method: what returns the content of a token, a code or a cookie."""
_USES: Final[Mapping[str, str]] = {
    "gateway/forward_auth/session_cookies.py:identify": "validity.require",
    "gateway/http/admin/authentication.py:_verified": "access_tokens.resolve",
    "gateway/protocol/action_tokens.py:_parsed_link": "validity.require",
    "gateway/protocol/grants/device_code.py:issue_to_device": "find_past_sign_in",
    "gateway/protocol/grants/refresh_token.py:refresh_tokens": "refresh_tokens.active",
    "gateway/protocol/introspection.py:_describe": "access_tokens.find_unrevoked",
    "gateway/protocol/introspection.py:_describe_refresh_token": "refresh_tokens.active",
    "gateway/protocol/logout.py:log_out_by_token": "refresh_tokens.session_to_end",
    "gateway/protocol/code_redemption.py:_spend_code": "find_past_sign_in",
    "gateway/protocol/identity_cookie.py:find_identity": "validity.require",
    "gateway/protocol/userinfo.py:_find_active": "access_tokens.find_unrevoked",
}
"""Function that reads a credential -> the call, in its module, that asks the rule."""
_READ_ALONE: Final[Mapping[str, str]] = {
    "gateway/admin/registration/tokens.py:verify_token": "registration tokens are no sign-in",
    "gateway/authentication/action_tokens.py:read_action_token": "reads for the endpoint of links",
    "gateway/forward_auth/browser.py:end": "ends sessions",
    "gateway/forward_auth/browser.py:is_signed_in": "ends sessions",
    "gateway/protocol/authorization/checks.py:check_id_token_hint": "a hint: names the user",
    "gateway/protocol/logout.py:_verified_hint": "a hint: compared with the cookie",
    "gateway/protocol/revocation.py:_revoke_any_token": "the client gives its token up",
    "gateway/protocol/revocation.py:_revoke_refresh_token": "`RefreshTokens` asks",
    "gateway/protocol/sender_constraint/dpop_proofs.py:is_current_nonce": "nonces of proofs",
    "gateway/protocol/tokens/access_token_checks.py:verify_token": (
        "reads for `find_unrevoked` and `resolve`"
    ),
    "gateway/protocol/tokens/refresh_token_checks.py:read_refresh_token": "`RefreshTokens` asks",
    "gateway/protocol/tokens/refresh_token_checks.py:verify_refresh_token": (
        "`RefreshTokens` asks"
    ),
    "gateway/protocol/tokens/response_signing.py:with_access_token_claims_as_jwt": (
        "a token that introspection has found active"
    ),
}
"""Function that reads a credential -> why it does not ask the rule."""


def _modules() -> Iterator[str]:
    for package in _PACKAGES:
        for file in sorted((_ROOT / "gateway" / package).rglob("*.py")):
            yield str(file.relative_to(_ROOT))


def _last_name(node: ast.expr) -> str:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return str(name).strip("_")


def _reads_state(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in _STATE and _last_name(node.value) in _OWNERS
    if not isinstance(node, ast.Call):
        return False
    name = _last_name(node.func)
    of_store = isinstance(node.func, ast.Attribute) and _last_name(node.func.value) in _STORES
    return name in _LOOKUPS or (name == "find_session" and of_store)


def _imports_rule(code: ast.Module) -> bool:
    return any(
        isinstance(node, ast.ImportFrom) and node.module == "gateway.authentication.validity"
        for node in ast.walk(code)
    )


def test_no_use_judges_by_itself_what_may_still_be_used() -> None:
    found = {
        module
        for module in _modules()
        if module != _RULE and any(map(_reads_state, ast.walk(_parsed(module))))
    }
    assert found == _OTHERS.keys()


def _reads_credential(node: ast.AST) -> bool:
    """Return whether the node refers to a reader: called, or passed on under another name."""
    if isinstance(node, ast.Name):
        return node.id in _READERS and isinstance(node.ctx, ast.Load)
    if not isinstance(node, ast.Attribute):
        return False
    return node.attr in _READERS or (_last_name(node.value), node.attr) in _READERS_OF


def _readers_of(module: str) -> Iterator[str]:
    for node in ast.walk(_parsed(module)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and any(
            map(_reads_credential, ast.walk(node))
        ):
            yield f"{module}:{node.name}"


def test_every_reader_of_a_credential_asks_the_rule() -> None:
    found = {reader for module in _modules() for reader in _readers_of(module)}
    assert found == _USES.keys() | _READ_ALONE.keys()
    silent = {
        reader
        for reader, call in _USES.items()
        if not any(each.endswith(call) for each in _calls_of(reader.partition(":")[0]))
    }
    assert silent == set()


def test_every_module_that_asks_the_rule_is_known() -> None:
    found = {module for module in _modules() if _imports_rule(_parsed(module))}
    assert found == _ASKERS.keys()


def test_each_look_up_of_a_revocation_asks_for_the_whole_chain() -> None:
    """A token ends with those that it was exchanged from; the caller names their ids."""
    found = {
        (module, *map(ast.unparse, node.args[1:]))
        for module in _modules()
        for node in ast.walk(_parsed(module))
        if isinstance(node, ast.Call) and _last_name(node.func) == "is_revoked"
    }
    chain = "*revocable_ids(claims)"
    assert found == {
        ("gateway/forward_auth/bearer_tokens.py", chain),
        ("gateway/http/admin/authentication.py", chain),
        ("gateway/protocol/tokens/access_token_checks.py", chain),
        ("gateway/protocol/tokens/refresh_token_checks.py", "*sources"),
    }


def test_credentials_of_clients_name_their_client_session() -> None:
    """Without it a client that joins its session again revives them; a browser has no client."""
    silent = set()
    for module in _modules():
        for node in ast.walk(_parsed(module)):
            if isinstance(node, ast.Call) and _last_name(node.func) == "IssuedCredential":
                given = {keyword.arg: keyword.value for keyword in node.keywords}
                if "session" in given and "generations" not in given:
                    silent.add((module, ast.unparse(given["part"])))
    assert silent == {
        ("gateway/protocol/action_tokens.py", "ClientPart.UNRELATED"),  # a link takes no part
        ("gateway/protocol/identity_cookie.py", "ClientPart.NO_CLIENT"),
    }


@pytest.mark.parametrize(
    ("module", "call"),
    [
        ("gateway/forward_auth/session_cookies.py", "validity.require"),
        ("gateway/forward_auth/client_certificates.py", "validity.require_unlocked"),
        ("gateway/protocol/action_tokens.py", "validity.require"),
        ("gateway/protocol/client_authentication/certificates.py", "validity.require_unlocked"),
        ("gateway/protocol/grants/device_code.py", "find_past_sign_in"),
        ("gateway/protocol/code_redemption.py", "find_past_sign_in"),
        ("gateway/protocol/identity_cookie.py", "validity.require"),
        ("gateway/protocol/code_redemption.py", "validity.require"),
        ("gateway/protocol/tokens/access_token_checks.py", "validity.require"),
        ("gateway/protocol/tokens/refresh_token_checks.py", "validity.require"),
        ("gateway/protocol/tokens/refresh_token_checks.py", "validity.find_session_to_end"),
    ],
)
def test_a_use_calls_the_rule(module: str, call: str) -> None:
    assert any(each.endswith(call) for each in _calls_of(module))


def _calls_of(module: str) -> set[str]:
    return {
        ast.unparse(node.func) for node in ast.walk(_parsed(module)) if isinstance(node, ast.Call)
    }


@cache
def _parsed(module: str) -> ast.Module:
    return ast.parse((_ROOT / module).read_text(encoding="utf-8"))
