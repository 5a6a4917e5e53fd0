"""Unsupported endpoints say so, with Keycloak's status for a feature that is off. Keycloak: 7."""

import pytest

from gateway.http.admin.operations import Operation, State
from tests.support.admin_operations import operations, send, title, url_of
from tests.support.administration import Administration

UNSUPPORTED = [
    pytest.param(row, id=title(row)) for row in operations() if row.state is State.NOT_SUPPORTED
]
NO_ORGANIZATIONS = {"errorMessage": "Organizations not enabled for this realm."}


@pytest.mark.parametrize("operation", UNSUPPORTED)
def test_an_unsupported_endpoint_is_refused_with_a_sentence(
    administration: Administration, operation: Operation
) -> None:
    url = url_of(operation, lambda name: "acme" if name == "realm" else "x")
    answer = send(administration, operation, url, administration.token())
    assert answer.status_code == operation.success
    document = answer.json()
    if answer.status_code == 501:
        sentence = {"error": "Feature not enabled", "error_description": operation.summary}
        assert document == sentence
    else:
        assert (answer.status_code, operation.summary in document.values()) == (404, True)


@pytest.mark.parametrize(
    ("method", "path", "status", "document"),
    [
        ("GET", "organizations", 404, NO_ORGANIZATIONS),
        ("POST", "organizations/x/members/invite-user", 404, NO_ORGANIZATIONS),
        (
            "GET",
            "clients/x/authz/resource-server/policy/role/y",
            404,
            {"error": "Authorization services (UMA) are not supported"},
        ),
        (
            "POST",
            "identity-provider/instances",
            501,
            {
                "error": "Feature not enabled",
                "error_description": "Identity brokering is not supported",
            },
        ),
        ("GET", "identity-provider/instances", 200, []),
    ],
)
def test_each_feature_has_its_answer(
    administration: Administration, method: str, path: str, status: int, document: object
) -> None:
    sent: dict[str, str] | None = {} if method == "POST" else None
    answer = administration.ask(method, f"acme/{path}", document=sent)
    assert (answer.status_code, answer.json()) == (status, document)
