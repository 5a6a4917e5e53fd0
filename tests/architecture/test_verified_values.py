"""Client policies receive verified values: types that only the verifying functions create.

A credential that is read from the parameters of a request proves nothing. Attacks C12, C20
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import pytest

import gateway.protocol.token_endpoint  # noqa: F401 - imports the classes that are created
from gateway.client_policies import (
    AuthorizationRequested,
    AuthorizationStart,
    ClientRequest,
    VerifiedClientAssertion,
    VerifiedClientCertificate,
    VerifiedCodeVerifier,
    VerifiedRequestObject,
)

_ROOT: Final = Path(__file__).resolve().parents[2]
_KINDS: Final[tuple[type[Any], ...]] = (
    VerifiedClientAssertion,
    VerifiedClientCertificate,
    VerifiedCodeVerifier,
    VerifiedRequestObject,
)
_CREATORS: Final[Mapping[str, tuple[str, str]]] = {
    "_AcceptedAssertion": (
        "gateway/protocol/client_authentication/client_assertions.py",
        "accept_assertion",
    ),
    "_AcceptedCertificate": (
        "gateway/protocol/client_authentication/certificates.py",
        "authenticate",
    ),
    "_AcceptedObject": ("gateway/protocol/authorization/request_object.py", "_verified"),
    "_AcceptedVerifier": ("gateway/protocol/authorization/pkce.py", "require_verifier"),
    "VerifiedClaims": ("gateway/crypto/client_signatures.py", "verify_claims"),
}
"""Class -> the module and the one function that create it."""
_OF_CLIENT_AND_REALM: Final = frozenset(
    {
        *("kind", "client", "issuer", "base_url", "realm_algorithm", "own_roles", "now"),
        *("authenticates", "is_push"),
    }
)
"""They are stored, or follow from the endpoint."""
_VERIFIED: Final = frozenset(
    {
        *("assertion", "certificate", "code_verifier", "request_object", "presented", "scopes"),
        *("was_pushed", "was_signed", "acr_values"),
    }
)
_TEXT: Final = frozenset({"sent", "pushed", "parameters", "response_type", "redirect_uri"})
"""What a request asks for: executors compare and refuse it, and it proves nothing."""
_PASS_TEXT: Final[Mapping[str, frozenset[str]]] = {
    "gateway/protocol/authorization/checks.py": frozenset(
        {"_with_key(draft)", "request.parameters.values"}
    ),
    "gateway/protocol/policy_checks.py": frozenset(),
}
_JUDGES: Final = frozenset(
    {"check_caller", "check_client", "ClientRequest", "AuthorizationRequested"}
)


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for file in sorted((_ROOT / "gateway").rglob("*.py")):
        yield str(file.relative_to(_ROOT)), ast.parse(file.read_text(encoding="utf-8"))


def _calls(code: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Yield each call of a plain name with the innermost function that it stands in."""
    found = [(node, "") for node in ast.iter_child_nodes(code)]
    while found:
        node, inside = found.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = node.name
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield inside, node
        found += [(each, inside) for each in ast.iter_child_nodes(node)]


def test_only_the_verifying_function_creates_a_verified_value() -> None:
    found: dict[str, set[tuple[str, str]]] = {}
    for module, code in _modules():
        for function, call in _calls(code):
            name = call.func.id if isinstance(call.func, ast.Name) else ""
            if name in _CREATORS or name in {kind.__name__ for kind in _KINDS}:
                found.setdefault(name, set()).add((module, function))
    assert found == {name: {creator} for name, creator in _CREATORS.items()}


@pytest.mark.parametrize("kind", _KINDS, ids=lambda kind: str(kind.__name__))
def test_a_verified_value_is_not_created_elsewhere(kind: type[Any]) -> None:
    """Neither as it is nor by a class of another module."""
    values = {each.name: None for each in fields(kind)}
    with pytest.raises(TypeError, match=f"only {kind.verifier} creates"):
        kind(**values)
    with pytest.raises(TypeError, match=f"only {kind.verifier} may define"):
        dataclass(type("Own", (kind,), {"__module__": __name__}))


@pytest.mark.parametrize("event", [ClientRequest, AuthorizationRequested, AuthorizationStart])
def test_each_value_of_a_judged_request_has_a_known_source(event: type[Any]) -> None:
    """A new value of a credential needs a type of its own, which is created by its check."""
    names = {each.name for each in fields(event)}
    assert names <= _OF_CLIENT_AND_REALM | _VERIFIED | _TEXT
    types = {each.name: str(each.type) for each in fields(event)}
    for name in names & {"assertion", "certificate", "code_verifier", "request_object"}:
        assert "Verified" in types[name], name


def test_no_parameter_of_a_request_reaches_a_policy_as_a_proof() -> None:
    """Scopes are those that were asked for, and only name what tokens would have."""
    for module, code in _modules():
        for _, call in _calls(code):
            if not isinstance(call.func, ast.Name) or call.func.id not in _JUDGES:
                continue
            values = [*call.args, *(each.value for each in call.keywords)]
            texts = {ast.unparse(each) for each in values}
            raw = {text for text in texts if "parameters" in text or ".raw(" in text}
            assert raw <= _PASS_TEXT.get(module, frozenset()), (module, call.lineno, raw)
