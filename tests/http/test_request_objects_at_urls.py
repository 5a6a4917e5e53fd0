"""Request objects at URLs that clients registered. Spec: RFC 9101 §5.2; attacks C20."""

from collections.abc import Iterator
from typing import Any, Final

import jwt
import pytest

from tests.support.administered_realm import administered_realm
from tests.support.administration import Administration
from tests.support.client_documents import ClientDocuments, serving_documents
from tests.support.recorded_realm import RECORDED, Recorded

URI: Final = "https://app.example/cb"
SECRET: Final = "0123456789abcdef" * 4


@pytest.fixture(scope="module")
def documents() -> Iterator[ClientDocuments]:
    with serving_documents() as served:
        yield served


@pytest.fixture(scope="module")
def recorded(administration: Administration, documents: ClientDocuments) -> Iterator[Recorded]:
    """Make a realm with a client whose request objects are served."""
    client = {
        "clientId": "app",
        "enabled": True,
        "secret": SECRET,
        "redirectUris": [URI],
        "attributes": {
            "request.uris": f"{documents.url}/request.jwt##{documents.url}/wrong.jwt",
            "request.object.signature.alg": "HS256",
        },
    }
    document = {**RECORDED, "clients": [client], "users": []}
    with administered_realm(administration, "objects-at-urls", {}, **document) as realm:
        yield Recorded(realm)


def authorize(recorded: Recorded, address: str) -> Any:
    path = f"/realms/{recorded.realm.name}/protocol/openid-connect/auth"
    query = {
        "client_id": "app",
        "redirect_uri": URI,
        "response_type": "code",
        "scope": "openid",
        "request_uri": address,
    }
    return recorded.realm.administration.http.get(path, params=query, follow_redirects=False)


def test_a_registered_address_is_fetched_and_counts(
    recorded: Recorded, documents: ClientDocuments
) -> None:
    content = {"client_id": "app", "prompt": "none", "state": "of the object"}
    documents.documents["/request.jwt"] = jwt.encode(content, SECRET, "HS256").encode()
    answer = authorize(recorded, f"{documents.url}/request.jwt#digest")
    assert answer.status_code == 302
    assert "error=login_required" in answer.headers["location"]
    assert "state=of+the+object" in answer.headers["location"].replace("%20", "+")


def test_an_object_of_a_wrong_key_is_refused(
    recorded: Recorded, documents: ClientDocuments
) -> None:
    """attacks: C20."""
    documents.documents["/wrong.jwt"] = jwt.encode({"client_id": "app"}, "x" * 64, "HS256").encode()
    assert authorize(recorded, f"{documents.url}/wrong.jwt").status_code == 400


@pytest.mark.parametrize("path", ["/other.jwt", "/request.jwt/../other.jwt", "/request.jwt?x=1"])
def test_another_address_is_not_fetched(
    recorded: Recorded, documents: ClientDocuments, path: str
) -> None:
    """attacks: C20."""
    before = len(documents.asked)
    assert authorize(recorded, documents.url + path).status_code == 400
    assert len(documents.asked) == before
