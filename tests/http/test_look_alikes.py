"""No user gets a name or an address that people or programs take for another user's.

Every way to set a name or an address is tried with every kind of look-alike. RFC 8265 §3.3.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from tests.support.administered_realm import person
from tests.support.administration import PASSWORD, Administration
from tests.support.mailed_links import MailedRealm, mailed_realm
from tests.support.own_account import FOR_ACCOUNT, OwnAccount
from tests.support.sign_in_browser import web_client

REALM: Final = "look-alikes"
UPDATE_EMAIL: Final = "authentication/required-actions/UPDATE_EMAIL"
NAMES: Final = {"firstName": "Ada", "lastName": "Lovelace"}
NUMBERS: Final = count()
OWNERS: Final = {
    "stra\u00dfe": "ada@b\u00fccher.example",
    "mike": "mike@example.org",
    "fiona": "\u0131rmak@example.org",
    "kim@example.net": None,
}
"""The users that others want to be taken for."""
LIKE_NAMES: Final = (
    *("STRASSE", "strasse", "stra\u1e9ee", "stra\u017fse"),
    *("m\u0131ke", "M\u0130KE", "\uff4dike", "mi\u212ae", "mike\ufe0f", "\u217fike"),
    *("\ufb01ona", "FIONA"),
)
LIKE_ADDRESSES: Final = (
    *("m\u0131ke@example.org", "M\u0130KE@EXAMPLE.ORG", "\uff4dike@example.org"),
    *("mike@\uff45xample.org", "MIKE@example.org.", "mi\u212ae@example.org"),
    *("ada@xn--bcher-kva.example", "ADA@B\u00dcCHER.example", "ada@bu\u0308cher.example"),
    *("irmak@example.org", "kim@example.net", "k\u0131m@example.net"),
)
Fields = Mapping[str, str]
Way = Callable[["Ways", Fields], bool]
"""Sets the fields of some user, and tells whether it was accepted."""


@pytest.fixture(scope="module")
def mailed(administration: Administration) -> Iterator[MailedRealm]:
    """Make a realm in which users set their names and addresses themselves."""
    page = {
        "clientId": "page",
        "publicClient": True,
        "directAccessGrantsEnabled": True,
        "protocolMappers": [FOR_ACCOUNT],
    }
    settings: dict[str, Any] = {
        "attributes": {},
        "verifyEmail": False,
        "registrationAllowed": True,
        "editUsernameAllowed": True,
        "resetPasswordAllowed": True,
        "clients": [web_client("app"), page],
    }
    with mailed_realm(administration, REALM, {}, **settings) as realm:
        for name, address in OWNERS.items():
            realm.add(name, email=address, emailVerified=True, **NAMES)
        yield realm


class Ways:
    """The ways to set a name or an address."""

    def __init__(self, mailed: MailedRealm, folder: Path) -> None:
        self.mailed, self.folder = mailed, folder
        self.account = OwnAccount(mailed.realm)

    def user(self) -> tuple[str, dict[str, Any]]:
        """Add a user who has other names; return the path and the fields."""
        name = f"user-{next(NUMBERS)}"
        path = self.mailed.add(name, emailVerified=True, **NAMES)
        stored = self.mailed.realm.get(path)
        return path, {"username": stored["username"], "email": stored["email"], **NAMES}

    def new(self, fields: Fields) -> dict[str, Any]:
        """Return the document of a user to add."""
        name = f"user-{next(NUMBERS)}"
        return {**person(name), "email": f"{name}@example.org", **NAMES, **fields}

    def ask(self, method: str, path: str, document: object) -> bool:
        return self.mailed.realm.ask(method, path, document).is_success

    def offer_links(self, *, enabled: bool, **config: str) -> None:
        found = self.mailed.realm.get(UPDATE_EMAIL)
        changed = {**found, "enabled": enabled, "config": config}
        self.mailed.realm.change("PUT", UPDATE_EMAIL, changed)


def _registration(ways: Ways, fields: Fields) -> bool:
    browser = ways.mailed.browser()
    document = ways.new(fields)
    sent = {name: document[name] for name in ("username", "email", *NAMES)}
    page = browser.open(prompt="create")
    sent |= {"password": PASSWORD, "password-confirm": PASSWORD}
    return browser.submit(page, **sent).id != "register"


def _form(action: str) -> Way:
    def submit(ways: Ways, fields: Fields) -> bool:
        path, known = ways.user()
        ways.mailed.realm.change("PUT", path, {"requiredActions": [action]})
        browser = ways.mailed.browser()
        page = browser.sign_in(known["username"])
        return browser.submit(page, **{**known, **fields}).status == 302

    return submit


def _verify_profile(ways: Ways, fields: Fields) -> bool:
    path, known = ways.user()
    ways.mailed.realm.change("PUT", path, {"lastName": ""})
    browser = ways.mailed.browser()
    page = browser.sign_in(known["username"])
    assert "VERIFY_PROFILE" in page.form.action, page.text
    return browser.submit(page, **{**known, **fields}).status == 302


def _account_api(ways: Ways, fields: Fields) -> bool:
    _, known = ways.user()
    token = ways.account.token(known["username"])
    return ways.account.ask("POST", "", token, json={**known, **fields}).is_success


def _account_console(ways: Ways, fields: Fields) -> bool:
    _, known = ways.user()
    browser, url = ways.mailed.browser(), f"/realms/{REALM}/account/personal-info"
    page = browser.submit(browser.get(url), username=known["username"], password=PASSWORD)
    form = browser.get(url).form
    page = browser.post(url, {**form.fields, **known, **fields})
    return page.status in {302, 303}


def _update_email(ways: Ways, fields: Fields) -> bool:
    _, known = ways.user()
    ways.offer_links(enabled=True)
    browser = ways.mailed.browser()
    page = browser.sign_in(known["username"], kc_action="UPDATE_EMAIL")
    done = browser.submit(page, email=fields["email"])
    ways.offer_links(enabled=False)
    return done.status == 302


def _update_email_link(ways: Ways, fields: Fields) -> bool:
    """Ask for the link: the page tells of an address that is taken."""
    _, known = ways.user()
    ways.offer_links(enabled=True, verifyEmail="true")
    browser = ways.mailed.browser()
    page = browser.sign_in(known["username"], kc_action="UPDATE_EMAIL")
    shown = browser.submit(page, email=fields["email"])
    ways.offer_links(enabled=False)
    return "A confirmation email has been sent" in (shown.message or "")


def _create(ways: Ways, fields: Fields) -> bool:
    return ways.ask("POST", "users", ways.new(fields))


def _update(ways: Ways, fields: Fields) -> bool:
    path, _ = ways.user()
    return ways.ask("PUT", path, dict(fields))


def _partial_import(ways: Ways, fields: Fields) -> bool:
    document = {"ifResourceExists": "FAIL", "users": [ways.new(fields)]}
    return ways.ask("POST", "partialImport", document)


def _command(*arguments: str) -> Way:
    """Run a command with the file of a user; known users are left alone by it."""

    def run(ways: Ways, fields: Fields) -> bool:
        file, before = ways.folder / f"{next(NUMBERS)}.json", ways.mailed.realm.get("users/count")
        file.write_bytes(orjson.dumps({"realm": REALM, "users": [ways.new(fields)]}))
        ways.mailed.realm.administration.command(*arguments, str(file))
        return bool(ways.mailed.realm.get("users/count") > before)

    return run


def _create_command(ways: Ways, fields: Fields) -> bool:
    new = ways.new(fields)
    options = (f"--email={new['email']}", f"--realm={REALM}", new["username"])
    return ways.mailed.realm.administration.command("user", "create", *options).exit_code == 0


OF_BOTH: Final[Mapping[str, Way]] = {
    "registration": _registration,
    "UPDATE_PROFILE": _form("UPDATE_PROFILE"),
    "VERIFY_PROFILE": _verify_profile,
    "account API": _account_api,
    "account console": _account_console,
    "admin API create": _create,
    "admin API update": _update,
    "partial import": _partial_import,
    "realm file": _command("realm", "import"),
    "user file": _command("user", "import", f"--realm={REALM}"),
    "command": _create_command,
}
OF_ADDRESSES: Final[Mapping[str, Way]] = {
    **OF_BOTH,
    "UPDATE_EMAIL": _update_email,
    "UPDATE_EMAIL link": _update_email_link,
}


@pytest.mark.parametrize("way", OF_BOTH)
def test_no_way_gives_a_user_a_name_like_anothers(
    mailed: MailedRealm, tmp_path: Path, way: str
) -> None:
    ways = Ways(mailed, tmp_path)
    assert OF_BOTH[way](ways, {"username": f"free-{next(NUMBERS)}"}), "the way is open"
    accepted = [name for name in LIKE_NAMES if OF_BOTH[way](ways, {"username": name})]
    assert accepted == []


@pytest.mark.parametrize("way", OF_ADDRESSES)
def test_no_way_gives_a_user_an_address_like_anothers(
    mailed: MailedRealm, tmp_path: Path, way: str
) -> None:
    ways = Ways(mailed, tmp_path)
    free = f"free-{next(NUMBERS)}@example.org"
    assert OF_ADDRESSES[way](ways, {"email": free}), "the way is open"
    accepted = [text for text in LIKE_ADDRESSES if OF_ADDRESSES[way](ways, {"email": text})]
    assert accepted == []


def test_a_name_that_a_person_types_finds_the_look_alike(mailed: MailedRealm) -> None:
    """The look-ups of sign-ins know the same form: at most one user is meant."""
    for name in ("STRASSE", "stra\u1e9ee", "\uff33\uff34\uff32\uff21\uff33\uff33\uff25"):
        assert mailed.browser().sign_in(name).answer["code"], name
    assert mailed.browser().sign_in("M\u0131ke@Example.org").answer["code"]


def test_a_reset_mail_goes_to_the_stored_address_alone(mailed: MailedRealm) -> None:
    """A look-alike of the address, or of its domain, is the mailbox of a stranger."""
    sent = ("m\u0131ke@example.org", "mike@\uff45xample.org", "\uff2dIKE@EXAMPLE.ORG", "m\u0131ke")
    for typed in sent:
        browser = mailed.browser()
        path = browser.open().form.action.replace("authenticate", "reset-credentials")
        browser.submit(browser.get(path), username=typed)
    mailed.mails("mike@example.org", len(sent))
    came = zip(mailed.server.messages, mailed.server.envelopes, strict=False)
    resets = [
        (mail["to"], *envelope.rcpt_tos)
        for mail, envelope in came
        if mail["subject"] == "Reset password"
    ]
    assert set(resets) == {("mike@example.org", "mike@example.org")}
    assert len(resets) >= len(sent)


def test_registering_a_look_alike_informs_the_owner_alone(mailed: MailedRealm) -> None:
    before = len(mailed.server.messages)
    with mailed.changed(verifyEmail=True):
        browser = mailed.browser()
        page = browser.open(prompt="create")
        fields = {"username": "stranger", "email": "f\u0131ona@example.org", **NAMES}
        mailed.add("fiona-2", email="fiona@example.org", emailVerified=True, **NAMES)
        page = browser.submit(page, **fields, password=PASSWORD, **{"password-confirm": PASSWORD})
    assert page.id == "register-confirm", page.text
    [mail] = mailed.mails("fiona@example.org")
    assert mail["subject"] == "You already have an account"
    assert {mail["to"] for mail in mailed.server.messages[before:]} == {"fiona@example.org"}


OWN: Final = (
    *("registration", "UPDATE_PROFILE", "VERIFY_PROFILE", "account API", "account console"),
    *("UPDATE_EMAIL", "UPDATE_EMAIL link"),
)


@pytest.mark.parametrize("way", OWN)
def test_users_choose_no_address_that_is_written_in_another_form(
    mailed: MailedRealm, tmp_path: Path, way: str
) -> None:
    """Programs that compare in the form NFKC would take it for the address of another person."""
    ways, name = Ways(mailed, tmp_path), f"form-{next(NUMBERS)}"
    sent = (
        f"{name}\uff20example.org",
        f"\uff46{name}@example.org",
        f"{name}@\uff45xample.org",
        f"{name}\ufe0f@example.org",
        f"{name}\u00ad@example.org",
    )
    accepted = [text for text in sent if OF_ADDRESSES[way](ways, {"email": text})]
    assert accepted == []
    assert OF_ADDRESSES[way](ways, {"email": f"{name}@example.org"})


@pytest.mark.parametrize("way", OWN)
def test_an_address_that_is_the_name_is_no_name_of_another_user(
    mailed: MailedRealm, tmp_path: Path, way: str
) -> None:
    """Where the address is the user name, a change of it changes the name."""
    ways, number = Ways(mailed, tmp_path), next(NUMBERS)
    mailed.add(f"named-{number}@example.org", email=None, **NAMES)
    with mailed.changed(registrationEmailAsUsername=True):
        for text in (f"named-{number}@example.org", f"n\uff41med-{number}@example.org"):
            assert not OF_ADDRESSES[way](ways, {"email": text}), text


@pytest.mark.parametrize("way", OWN[:5])
def test_users_choose_no_name_of_a_service_account(
    mailed: MailedRealm, tmp_path: Path, way: str
) -> None:
    """Services know clients by it; a client without an account leaves its name free."""
    ways, number = Ways(mailed, tmp_path), next(NUMBERS)
    client = {"clientId": f"orders-{number}", "serviceAccountsEnabled": True, "enabled": True}
    name = f"service-account-orders-{number}"
    sent = (name, name.upper(), name.replace("i", "\u0131", 1))
    accepted = [text for text in sent if OF_BOTH[way](ways, {"username": text})]
    assert accepted == []
    mailed.realm.change("POST", "clients", client)
    assert OF_BOTH[way](ways, {"username": f"service-{number}"})


@pytest.mark.parametrize("way", [*OWN[:5], "admin API create", "admin API update", "command"])
def test_the_standard_profile_refuses_letters_of_other_scripts(
    mailed: MailedRealm, tmp_path: Path, way: str
) -> None:
    """`up-username-not-idn-homograph`: no normal form unites Latin and Cyrillic letters."""
    ways = Ways(mailed, tmp_path)
    sent = ("mik\u0435", "\u043cik\u0435", "mi\u03bae", "mi\u043ae-2", "\u13bfike")
    accepted = [name for name in sent if OF_BOTH[way](ways, {"username": name})]
    assert accepted == []


@pytest.mark.parametrize("way", [name for name in OF_ADDRESSES if name != "UPDATE_EMAIL link"])
def test_every_way_names_a_user_by_the_address(
    mailed: MailedRealm, tmp_path: Path, way: str
) -> None:
    """`registrationEmailAsUsername`: whatever name is sent. Keycloak: 17.2 profile."""
    ways, number = Ways(mailed, tmp_path), next(NUMBERS)
    address, ignored = f"named-by-{number}@example.org", f"ignored-{number}"
    with mailed.changed(registrationEmailAsUsername=True):
        assert OF_ADDRESSES[way](ways, {"email": address, "username": ignored})
    found = mailed.realm.get(f"users?email={address}&exact=true")
    assert [user["username"] for user in found] == [address]
    assert mailed.realm.get(f"users?username={ignored}&exact=true") == []


@pytest.mark.parametrize("way", ["account API", "account console", "admin API"])
def test_any_change_names_an_earlier_user_by_the_address(
    mailed: MailedRealm, tmp_path: Path, way: str
) -> None:
    """Administrators see the address as the name from the beginning. Keycloak 26.7, measured."""
    ways = Ways(mailed, tmp_path)
    path, known = ways.user()
    ways.user = lambda: (path, known)  # type: ignore[method-assign]
    ways.account.grant(path.partition("/")[2], "manage-account")
    with mailed.changed(registrationEmailAsUsername=True):
        assert mailed.realm.get(path)["username"] == known["email"]
        listed = mailed.realm.get(f"users?username={known['username']}&exact=true")
        assert [user["username"] for user in listed] == [known["email"]]
        own = ways.account.get("", ways.account.token(known["username"]))
        assert own["username"] == known["email"]
        if way == "admin API":
            mailed.realm.change("PUT", path, {"firstName": "Grace"})
        else:
            assert OF_BOTH[way](ways, {"firstName": "Grace"})
    stored = mailed.realm.get(path)
    assert (stored["username"], stored["firstName"]) == (known["email"], "Grace")
