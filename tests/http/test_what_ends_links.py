"""What ends the link of a mail: each change beside each kind of link, as a table.

Every cell is executed: the link is opened after the change, and the button of a page that was
opened before it is pressed. `+` still works, `-` is refused. Keycloak: 16.2
"""

import json
import re
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any, Final

import pyotp
import pytest

from tests.support.administered_realm import person
from tests.support.administration import Administration
from tests.support.gateway_process import until
from tests.support.mailed_links import MailedRealm, mailed_realm
from tests.support.one_time_devices import base32, device
from tests.support.sign_in_browser import CALLBACK, Page, SignInBrowser, web_client

_PAGE: Final = Path(__file__).resolve().parents[2] / "docs/what-ends-links.md"
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
the same, created years ago      | -               -            -            -
the same, created in the future  | -               -            -            -
password replaced, same date     | -               +            -            -
user signed out                  | -               -            -            -
notBefore of the realm           | -               -            -            -
notBefore of the client          | -               -            -            -
redirect URI removed             | -               -            +            +
client disabled                  | -               -            -            -
client removed                   | -               -            -            -
realm disabled                   | -               -            -            -
reset no longer allowed          | +               +            +            -
UPDATE_EMAIL disabled            | +               +            -            +
VERIFY_EMAIL disabled            | +               -            +            +
UPDATE_PASSWORD disabled         | -               +            +            -
UPDATE_PASSWORD removed          | -               +            +            -
address read-only for users      | +               +            -            +
verifyEmail switched off         | +               +            +            +
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


def _password_of(mailed: MailedRealm, link: _Link) -> str | None:
    """Return the hash of the password that is stored; None without any."""
    database = mailed.realm.administration.gateway.state_dir / "realmgate.db"
    with closing(sqlite3.connect(database)) as connection:
        found = connection.execute(
            "SELECT secret_data FROM credentials WHERE user_id = ? AND type = 'password'",
            (link.user.partition("/")[2],),
        ).fetchone()
    return None if found is None else str(found[0])


def _of_user(method: str, path: str = "", document: Any = None) -> Callable[..., None]:
    def change(mailed: MailedRealm, links: list[_Link]) -> None:
        for link in links:
            mailed.realm.change(method, f"{link.user}{path}", document)

    return change


def _remove_password(mailed: MailedRealm, links: list[_Link]) -> None:
    for link in links:
        (password,) = mailed.realm.get(f"{link.user}/credentials")
        mailed.realm.change("DELETE", f"{link.user}/credentials/{password['id']}")


def _replace_password(mailed: MailedRealm, links: list[_Link]) -> None:
    """Replace the hash of each password, with the date of the former one."""
    for link in links:
        (held,) = mailed.realm.get(f"{link.user}/credentials")
        hashed = {"secretData": json.dumps({"value": "AAAA", "salt": "AAAA"})}
        mailed.realm.change("PUT", link.user, {"credentials": [held | hashed]})


def _import_again(later: float | None) -> Callable[[MailedRealm, list[_Link]], None]:
    """Import the users with their ids and addresses, and another password of the same date and id.

    `later` is how many seconds `createdTimestamp` lies in the future; None for no value.
    """

    def change(mailed: MailedRealm, links: list[_Link]) -> None:
        made_at = {} if later is None else {"createdTimestamp": int((time.time() + later) * 1000)}
        users = []
        for link in links:
            user = mailed.realm.get(link.user)
            del user["createdTimestamp"]
            held = mailed.realm.get(f"{link.user}/credentials")
            hashed = {"secretData": json.dumps({"value": "AAAA", "salt": "AAAA"})}
            users.append(user | made_at | {"credentials": [each | hashed for each in held]})
        document = {"ifResourceExists": "OVERWRITE", "users": users}
        mailed.realm.change("POST", "partialImport", document)

    return change


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


def _not_before_of_client(mailed: MailedRealm, links: list[_Link]) -> None:
    _of_client("PUT", notBefore=int(time.time()) + 1)(mailed, links)


def _of_action(method: str, alias: str) -> Callable[..., None]:
    """Disable a required action, or remove it."""

    def change(mailed: MailedRealm, _links: list[_Link]) -> None:
        action = f"authentication/required-actions/{alias}"
        disabled = {**mailed.realm.get(action), "enabled": False}
        mailed.realm.change(method, action, None if method == "DELETE" else disabled)

    return change


def _lock_address(mailed: MailedRealm, _links: list[_Link]) -> None:
    """Let administrators alone edit the address."""
    mailed.realm.change("PUT", "", {"attributes": {"userProfileEnabled": "true"}})
    profile = mailed.realm.get("users/profile")
    for attribute in profile["attributes"]:
        if attribute["name"] == "email":
            attribute["permissions"] = {"view": ["admin", "user"], "edit": ["admin"]}
    mailed.realm.change("PUT", "users/profile", profile)


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
    "user imported again with the id": _import_again(None),
    "the same, created years ago": _import_again(-1e8),
    "the same, created in the future": _import_again(60),
    "password replaced, same date": _replace_password,
    "user signed out": _sign_out,
    "notBefore of the realm": lambda mailed, _links: mailed.realm.change(
        "PUT", "", {"notBefore": int(time.time()) + 1}
    ),
    "notBefore of the client": _not_before_of_client,
    "redirect URI removed": _of_client("PUT", redirectUris=[_OTHER]),
    "client disabled": _of_client("PUT", enabled=False),
    "client removed": _of_client("DELETE"),
    "realm disabled": lambda mailed, _links: mailed.realm.change("PUT", "", {"enabled": False}),
    "reset no longer allowed": lambda mailed, _links: mailed.realm.change(
        "PUT", "", {"resetPasswordAllowed": False}
    ),
    "UPDATE_EMAIL disabled": _of_action("PUT", "UPDATE_EMAIL"),
    "VERIFY_EMAIL disabled": _of_action("PUT", "VERIFY_EMAIL"),
    "UPDATE_PASSWORD disabled": _of_action("PUT", "UPDATE_PASSWORD"),
    "UPDATE_PASSWORD removed": _of_action("DELETE", "UPDATE_PASSWORD"),
    "address read-only for users": _lock_address,
    "verifyEmail switched off": lambda mailed, _links: mailed.realm.change(
        "PUT", "", {"verifyEmail": False}
    ),
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


@pytest.mark.parametrize("change", CHANGES)
def test_a_page_that_a_link_has_opened_ends_as_the_link_does(
    administration: Administration, change: str
) -> None:
    """The thief of a mail has opened the form of the password before the change."""
    name = f"pages-{list(CHANGES).index(change)}"
    settings = {
        "clients": [web_client("app", redirectUris=[CALLBACK, _OTHER])],
        "resetPasswordAllowed": True,
    }
    kinds = ("execute-actions", "reset-credentials")
    with mailed_realm(administration, name, {}, **settings) as mailed:
        thieves = {kind: _opened(mailed, *KINDS[kind](mailed)) for kind in kinds}
        pages = {kind: thief.browser.submit(thief.page) for kind, thief in thieves.items()}
        assert {page.id for page in pages.values()} == {"login-update-password"}
        before = {kind: _password_of(mailed, thief) for kind, thief in thieves.items()}
        CHANGES[change](mailed, list(thieves.values()))
        after = {kind: _password_of(mailed, thief) for kind, thief in thieves.items()}
        fields = {"password-new": _OLD, "password-confirm": _OLD}
        for kind, thief in thieves.items():
            thief.browser.submit(pages[kind], **fields)
        found = {kind: _password_of(mailed, thief) for kind, thief in thieves.items()}
    works = {kind: found[kind] != after[kind] for kind in kinds}
    assert works == {kind: _rows()[change][kind] for kind in kinds}, (before, after, found)


_ACTIONS: Final = ["UPDATE_PASSWORD", "CONFIGURE_TOTP", "CONFIGURE_RECOVERY_AUTHN_CODES"]


def _perform(browser: SignInBrowser, page: Page) -> Page:
    """Perform the required action of the page."""
    fields = {}
    if "password-new" in page.form.names:
        fields = {"password-new": _NEW, "password-confirm": _NEW}
    elif "totpSecret" in page.form.names:
        secret = base32(page.form.fields["totpSecret"])
        fields = {"totp": pyotp.TOTP(secret).now(), "userLabel": "Phone"}
    return browser.submit(page, **fields)


def test_a_link_goes_on_after_the_credentials_that_it_set(administration: Administration) -> None:
    with mailed_realm(administration, "own-credentials", {}) as mailed:
        sent = _sent(mailed, "several", "execute-actions-email", _ACTIONS)
        link = _opened(mailed, *sent)
        page = link.browser.submit(link.page)
        for _ in _ACTIONS:
            assert page.form.names, page.text
            page = _perform(link.browser, page)
        assert "Your account has been updated." in page.text
        held = [one["type"] for one in mailed.realm.get(f"{link.user}/credentials")]
        assert sorted(held) == ["otp", "password", "recovery-authn-codes"]


@pytest.mark.parametrize("performed", [0, 1, 2])
def test_a_credential_set_elsewhere_ends_a_link_midway(
    administration: Administration, performed: int
) -> None:
    with mailed_realm(administration, f"between-{performed}", {}) as mailed:
        link = _opened(mailed, *_sent(mailed, "several", "execute-actions-email", _ACTIONS))
        page = link.browser.submit(link.page)
        for _ in range(performed):
            page = _perform(link.browser, page)
        mailed.realm.change("PUT", link.user, {"credentials": [device()]})
        before = mailed.realm.get(f"{link.user}/credentials")
        _perform(link.browser, page)
        assert mailed.realm.get(f"{link.user}/credentials") == before


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


def test_a_link_ends_with_each_action_that_it_asks_for(administration: Administration) -> None:
    """Beside an action that stays: the link is refused as a whole, and none is sent."""
    with mailed_realm(administration, "each-action", {}) as mailed:
        path = "authentication/required-actions"
        found = [one for one in mailed.realm.get(path) if one["alias"] != "UPDATE_EMAIL"]
        for action in found:
            mailed.realm.change("PUT", f"{path}/{action['alias']}", {**action, "enabled": True})
        accepted, sent = set(), set()
        for action in found:
            alias, name = action["alias"], action["alias"].lower()
            user, asked = mailed.add(name), [*dict.fromkeys(("UPDATE_PASSWORD", alias))]
            mailed.realm.change("PUT", f"{user}/execute-actions-email", asked)
            link = _opened(mailed, user, f"{name}@example.org")
            assert link.page.status == 200, alias
            mailed.realm.change("PUT", f"{path}/{alias}", {**action, "enabled": False})
            if link.is_accepted():
                accepted.add(alias)
            if mailed.realm.ask("PUT", f"{user}/execute-actions-email", asked).is_success:
                sent.add(alias)
            mailed.realm.change("PUT", f"{path}/{alias}", {**action, "enabled": True})
    assert (accepted, sent, len(found) > 10) == (set(), set(), True)


def test_no_link_is_sent_that_would_be_refused(administration: Administration) -> None:
    settings = {"clients": [web_client("app")], "resetPasswordAllowed": True}
    with mailed_realm(administration, "not-sent", {}, **settings) as mailed:
        user = mailed.add("ada")
        for alias, path in (
            ("VERIFY_EMAIL", "send-verify-email"),
            ("UPDATE_PASSWORD", "reset-password-email"),
        ):
            _of_action("PUT", alias)(mailed, [])
            assert mailed.realm.refused("PUT", f"{user}/{path}")[0] == 400, alias
        assert "forgot" not in mailed.browser().open().html
        assert not mailed.server.messages
