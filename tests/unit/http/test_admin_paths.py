"""Which URL of the admin API a request means. Spec: RFC 3986 §2.4."""

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.routing import Match
from starlette.types import Message, Receive, Scope, Send

from gateway.http.admin.routing import AdminUrls
from gateway.http.exchange import escaped_path, split_path

_TEMPLATES = (
    "/admin/realms",
    "/admin/realms/{realm}/roles",
    "/admin/realms/{realm}/roles/{role_name}",
    "/admin/realms/{realm}/roles/{role_name}/composites",
    "/admin/realms/{realm}/users/count",
    "/admin/realms/{realm}/users/{user_id}",
    "/admin/realms/{realm}/users/{user_id}/groups",
    "/admin/realms/{realm}/group-by-path/{path:path}",
)


async def _receive() -> Message:
    raise AssertionError


async def _send(message: Message) -> None:
    raise AssertionError(message)


class _Endpoint:
    def __init__(self, template: str) -> None:
        self.template = template

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive, send
        scope["answered_by"] = self.template


URLS = AdminUrls({template: _Endpoint(template) for template in _TEMPLATES})


def scope_of(path: str) -> Scope:
    """Return the request as a server and the middleware of paths pass it on."""
    plain = unquote(path.partition("?")[0]).removeprefix("/auth")
    return {"type": "http", "path": plain, "raw_path": path.encode()}


def found(path: str) -> tuple[str, dict[str, str]] | None:
    match, child = URLS.matches(scope_of(path))
    if match is Match.NONE:
        return None
    return child["endpoint"].template.removeprefix("/admin/realms"), child["path_params"]


@pytest.mark.parametrize(
    ("path", "template", "parameters"),
    [
        ("/admin/realms", "", {}),
        ("/admin/realms/", "", {}),
        ("/auth/admin/realms", "", {}),
        ("/admin/realms/x/roles/", "/{realm}/roles", {"realm": "x"}),
        ("/admin/realms/x/roles/r?a=/b", "/{realm}/roles/{role_name}", {"role_name": "r"}),
        ("/admin/realms/x/roles/a%2Fb", "/{realm}/roles/{role_name}", {"role_name": "a/b"}),
        (
            "/admin/realms/x/roles/composites/composites",
            "/{realm}/roles/{role_name}/composites",
            {"role_name": "composites"},
        ),
        (
            "/admin/realms/x/roles/a%2Fcomposites",
            "/{realm}/roles/{role_name}",
            {"role_name": "a/composites"},
        ),
        (
            "/admin/realms/x/roles/%20%C3%BC%3F%25",
            "/{realm}/roles/{role_name}",
            {"role_name": " ü?%"},
        ),
        ("/admin/realms/x/users/count", "/{realm}/users/count", {}),
        ("/admin/realms/x/users/c%6Funt", "/{realm}/users/count", {}),
        ("/admin/realms/x/users/1", "/{realm}/users/{user_id}", {"user_id": "1"}),
        (
            "/admin/realms/x/users/count/groups",
            "/{realm}/users/{user_id}/groups",
            {"user_id": "count"},
        ),
        (
            "/admin/realms/x/group-by-path/a/b%2Fc/d/",
            "/{realm}/group-by-path/{path:path}",
            {"path": "a/b/c/d"},
        ),
        ("/admin/realms/a%2Fb/roles", "/{realm}/roles", {"realm": "a/b"}),
    ],
)
def test_a_url_is_told_segment_by_segment(
    path: str, template: str, parameters: dict[str, str]
) -> None:
    assert found(path) == (template, {"realm": "x"} | parameters if "{" in template else {})


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/auth",
        "/auth/auth/admin/realms",
        "/admin",
        "/admin%2Frealms",
        "/admin/realms/x",
        "/admin/realms//roles",
        "/admin/realms/x/roles//",
        "/admin/realms/x/roles//composites",
        "/admin/realms/x/Roles",
        "/admin/realms/x/roles/r/composites/more",
        "/admin/realms/x/group-by-path",
        "/admin/realms/x%2Froles",
    ],
)
def test_what_is_no_url_of_the_api_is_none(path: str) -> None:
    assert found(path) is None


def test_other_protocols_have_no_urls_here() -> None:
    assert URLS.matches({**scope_of("/admin/realms"), "type": "websocket"}) == (Match.NONE, {})


async def test_the_endpoint_that_was_found_answers() -> None:
    scope = scope_of("/admin/realms/x/roles")
    _, child = URLS.matches(scope)
    scope.update(child)
    await URLS.handle(scope, _receive, _send)
    assert scope["answered_by"] == "/admin/realms/{realm}/roles"


def test_without_the_path_as_sent_the_decoded_one_is_taken() -> None:
    assert split_path({"type": "http", "path": "/admin/ü"}) == ["admin", "ü"]


def test_unescaped_characters_of_a_path_are_escaped() -> None:
    scope = {"type": "http", "path": "", "raw_path": "/a%2Fb/ü%41?x=ü".encode()}
    assert escaped_path(scope) == "/a%2Fb/%C3%BC%41"
    assert split_path(scope) == ["a/b", "üA"]


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_any_name_that_is_escaped_comes_back(name: str) -> None:
    escaped = "".join(f"%{byte:02X}" for byte in name.encode())
    assert found(f"/admin/realms/x/roles/{escaped}/composites") == (
        "/{realm}/roles/{role_name}/composites",
        {"realm": "x", "role_name": name},
    )


@given(st.text())
def test_no_path_breaks_the_table(path: str) -> None:
    raw = path.encode("utf-8", "surrogatepass")
    URLS.matches({"type": "http", "path": path, "raw_path": raw})
