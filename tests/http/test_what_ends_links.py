"""What ends the link of a mail: each change beside each kind of link, as a table.

Every cell is executed: the link is opened after the change, and the button of a page that was
opened before it is pressed. `+` still works, `-` is refused. Keycloak: 16.2
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.administered_realm import person
from tests.support.administration import Administration
from tests.support.gateway_process import until
from tests.support.mailed_links import MailedRealm, mailed_realm
from tests.support.one_time_devices import device
from tests.support.sign_in_browser import CALLBACK, Page, SignInBrowser, web_client

_PAGE: Final = Path(__file__).resolve().parents[2] / "docs/sessions-and-lock-outs.md"
TABLE: Final = """
change                           | execute-actions verify-email update-email reset-credentials
nothing                          | +               +            +            +
password set                     | -               +            -            -
password removed                 | -               +            -            -
another credential added         | -               +            +            +
address changed                  | -               -            -            -
user disabled                    | -               -            -            -
user removed                     | -               -            -            -
user imported again with the id  | -               -            -            -
user signed out                  | -               -            -            -
redirect URI removed             | -               -            +            +
client disabled                  | -               -            -            -
client removed                   | -               -            -            -
realm disabled                   | -               -            -            -
"""
_NEW: Final = "Another long password 3"
_OLD: Final = "Password of the thief 4"
_OTHER: Final = "https://app.example.test/other"


@dataclass(frozen=True, slots=True)
class _Link:
    """A link, its user, and the page that a browser has opened before the change."""

    browser: SignInBrowser
    url: str
    user: str
    page: Page

    def is_accepted(self) -> bool:
        """Press the button of the page, and open the link again where that was refused."""
        opened = SignInBrowser(self.browser.http, self.browser.realm).get(self.url)
        pressed = self.browser.submit(self.page)
        assert {opened.status, pressed.status} <= {200, 302, 400, 403}, pressed.text
        works = pressed.status in {200, 302}
        assert works is (opened.status == 200), (opened.text, pressed.text)
        return works


def _opened(mailed: MailedRealm, user: str, address: str, count: int = 1) -> _Link:
    browser, url = mailed.browser(), mailed.link(address, count)
    return _Link(browser, url, user, browser.get(url))


_Sent = tuple[str, str]
"""The path of a user, and the address that the link is sent to."""


def _sent(mailed: MailedRealm, kind: str, path: str, actions: list[str] | None = None) -> _Sent:
    """Let an administrator send the link."""
    user = mailed.add(kind)
    query = f"client_id=app&redirect_uri={CALLBACK}"
    mailed.realm.change("PUT", f"{user}/{path}?{query}", actions)
    return user, f"{kind}@example.org"


def _execute_actions(mailed: MailedRealm) -> _Sent:
    return _sent(mailed, "execute-actions", "execute-actions-email", ["UPDATE_PASSWORD"])


def _verify_email(mailed: MailedRealm) -> _Sent:
    return _sent(mailed, "verify-email", "send-verify-email")


def _update_email(mailed: MailedRealm) -> _Sent:
    user = mailed.add("update-email", requiredActions=["UPDATE_EMAIL"])
    browser = mailed.browser()
    page = browser.sign_in("update-email")
    assert page.id == "update-email", page.text
    browser.submit(page, email="new@example.org")
    return user, "new@example.org"


def _reset_credentials(mailed: MailedRealm, **fields: Any) -> _Sent:
    user = mailed.add("reset-credentials", **fields)
    browser = mailed.browser()
    found = re.search(r'<a class="forgot" href="([^"]*)"', browser.open().html)
    assert found is not None
    page = browser.get(unescape(found.group(1)))
    browser.submit(page, username="reset-credentials")
    return user, "reset-credentials@example.org"


KINDS: Final[Mapping[str, Callable[[MailedRealm], _Sent]]] = {
    "execute-actions": _execute_actions,
    "verify-email": _verify_email,
    "update-email": _update_email,
    "reset-credentials": _reset_credentials,
}


def _of_user(method: str, path: str = "", document: Any = None) -> Callable[..., None]:
    def change(mailed: MailedRealm, links: list[_Link]) -> None:
        for link in links:
            mailed.realm.change(method, f"{link.user}{path}", document)

    return change


def _remove_password(mailed: MailedRealm, links: list[_Link]) -> None:
    for link in links:
        (password,) = mailed.realm.get(f"{link.user}/credentials")
        mailed.realm.change("DELETE", f"{link.user}/credentials/{password['id']}")


def _import_again(mailed: MailedRealm, links: list[_Link]) -> None:
    """Import the users with their ids and addresses, made later than the links."""
    made_at = int(time.time() * 1000) + 60_000
    users = [{**mailed.realm.get(link.user), "createdTimestamp": made_at} for link in links]
    mailed.realm.change("POST", "partialImport", {"ifResourceExists": "OVERWRITE", "users": users})


def _sign_out(mailed: MailedRealm, links: list[_Link]) -> None:
    """Do it in a later second than that of the links: notBefore counts whole seconds."""
    opened_at = int(time.time())
    until(lambda: time.time() >= opened_at + 1, "the clock stands still")
    _of_user("POST", "/logout")(mailed, links)


def _of_client(method: str, **fields: Any) -> Callable[..., None]:
    def change(mailed: MailedRealm, _links: list[_Link]) -> None:
        (client,) = mailed.realm.get("clients?clientId=app")
        mailed.realm.change(method, f"clients/{client['id']}", fields or None)

    return change


def _nothing(_mailed: MailedRealm, _links: list[_Link]) -> None:
    pass


CHANGES: Final[Mapping[str, Callable[[MailedRealm, list[_Link]], object]]] = {
    "nothing": _nothing,
    "password set": _of_user("PUT", "/reset-password", {"type": "password", "value": _NEW}),
    "password removed": _remove_password,
    "another credential added": _of_user("PUT", "", {"credentials": [device()]}),
    "address changed": _of_user("PUT", "", {"email": ""}),
    "user disabled": _of_user("PUT", "", {"enabled": False}),
    "user removed": _of_user("DELETE"),
    "user imported again with the id": _import_again,
    "user signed out": _sign_out,
    "redirect URI removed": _of_client("PUT", redirectUris=[_OTHER]),
    "client disabled": _of_client("PUT", enabled=False),
    "client removed": _of_client("DELETE"),
    "realm disabled": lambda mailed, _links: mailed.realm.change("PUT", "", {"enabled": False}),
}


def _rows() -> dict[str, dict[str, bool]]:
    head, *lines = TABLE.strip().splitlines()
    kinds = head.partition("|")[2].split()
    rows = {}
    for line in lines:
        change, _, cells = line.partition("|")
        allowed = [{"+": True, "-": False}[cell] for cell in cells.split()]
        rows[change.strip()] = dict(zip(kinds, allowed, strict=True))
    return rows


def test_the_documentation_has_the_table() -> None:
    assert TABLE.strip() in _PAGE.read_text(encoding="utf-8")


def test_every_change_stands_beside_every_link() -> None:
    rows = _rows()
    assert rows.keys() == CHANGES.keys()
    assert all(row.keys() == KINDS.keys() for row in rows.values())


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_ends_the_links_that_the_table_names(
    administration: Administration, change: str
) -> None:
    name = f"ends-links-{list(CHANGES).index(change)}"
    settings = {
        "clients": [web_client("app", redirectUris=[CALLBACK, _OTHER])],
        "resetPasswordAllowed": True,
    }
    with mailed_realm(administration, name, {}, **settings) as mailed:
        action = "authentication/required-actions/UPDATE_EMAIL"
        found = mailed.realm.get(action)
        config = {"verifyEmail": "true"}
        mailed.realm.change("PUT", action, {**found, "enabled": True, "config": config})
        sent = {kind: send(mailed) for kind, send in KINDS.items()}
        links = {kind: _opened(mailed, *of_kind) for kind, of_kind in sent.items()}
        CHANGES[change](mailed, list(links.values()))
        accepted = {kind: link.is_accepted() for kind, link in links.items()}
    assert accepted == _rows()[change]


def test_the_first_password_ends_a_link_that_was_sent_before_it(
    administration: Administration,
) -> None:
    with mailed_realm(administration, "ends-links", {}) as mailed:
        document = {**person("bare", email="bare@example.org"), "credentials": []}
        user = f"users/{mailed.realm.change('POST', 'users', document)}"
        mailed.realm.change("PUT", f"{user}/execute-actions-email", ["UPDATE_PASSWORD"])
        old = _opened(mailed, user, "bare@example.org")
        assert old.page.status == 200
        body = {"type": "password", "value": _NEW}
        mailed.realm.change("PUT", f"{user}/reset-password", body)
        assert not old.is_accepted()
        mailed.realm.change("PUT", f"{user}/execute-actions-email", ["UPDATE_PASSWORD"])
        assert _opened(mailed, user, "bare@example.org", 2).is_accepted()


def test_a_page_of_a_link_ends_with_the_password_of_its_time(
    administration: Administration,
) -> None:
    """The page was opened before an administrator has set the password."""
    with mailed_realm(administration, "ends-pages", {}) as mailed:
        for name, credentials in (("known", None), ("bare", [])):
            document = person(name, email=f"{name}@example.org")
            if credentials is not None:
                document["credentials"] = credentials
            user = f"users/{mailed.realm.change('POST', 'users', document)}"
            mailed.realm.change("PUT", f"{user}/execute-actions-email", ["UPDATE_PASSWORD"])
            opened = _opened(mailed, user, f"{name}@example.org")
            page = opened.browser.submit(opened.page)
            assert page.id == "login-update-password"
            body = {"type": "password", "value": _NEW}
            mailed.realm.change("PUT", f"{user}/reset-password", body)
            fields = {"password-new": _OLD, "password-confirm": _OLD}
            refused = opened.browser.submit(page, **fields)
            assert "Your account has been updated." not in refused.text
            for password, right in ((_NEW, True), (_OLD, False)):
                other = mailed.browser()
                done = other.submit(other.open(), username=name, password=password)
                assert (done.status == 302) is right, (name, password)


@pytest.mark.parametrize("kind", ["execute-actions", "reset-credentials"])
@pytest.mark.parametrize(
    "change",
    [
        CHANGES["password set"],
        _of_user("PUT", "", {"email": ""}),
        _sign_out,
        CHANGES["user imported again with the id"],
    ],
    ids=["password", "address", "sign-out", "import"],
)
def test_a_page_that_a_link_has_opened_ends_as_the_link_does(
    administration: Administration,
    kind: str,
    change: Callable[[MailedRealm, list[_Link]], object],
    request: pytest.FixtureRequest,
) -> None:
    """The thief of a mail has opened the form of the password before the change."""
    name = f"pages-{request.node.callspec.id}"
    settings = {"clients": [web_client("app")], "resetPasswordAllowed": True}
    with mailed_realm(administration, name, {}, **settings) as mailed:
        thief = _opened(mailed, *KINDS[kind](mailed))
        page = thief.browser.submit(thief.page)
        assert page.id == "login-update-password", page.text
        change(mailed, [thief])
        fields = {"password-new": _OLD, "password-confirm": _OLD}
        refused = thief.browser.submit(page, **fields)
        assert refused.id in {"login", "login-reset-password"}, refused.text
        other = mailed.browser()
        done = other.submit(other.open(), username=kind, password=_OLD)
        assert done.id == "login", done.text


def test_the_first_password_ends_a_page_of_a_reset(administration: Administration) -> None:
    settings = {"clients": [web_client("app")], "resetPasswordAllowed": True}
    with mailed_realm(administration, "first-password", {}, **settings) as mailed:
        user, address = _reset_credentials(mailed, credentials=[])
        thief = _opened(mailed, user, address)
        page = thief.browser.submit(thief.page)
        body = {"type": "password", "value": _NEW}
        mailed.realm.change("PUT", f"{user}/reset-password", body)
        thief.browser.submit(page, **{"password-new": _OLD, "password-confirm": _OLD})
        other = mailed.browser()
        done = other.submit(other.open(), username="reset-credentials", password=_NEW)
        assert "code" in done.answer
