"""What users complete in their own profile during a sign-in. Keycloak: 16.1, the user profile."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import Administration
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import Page, SignInBrowser, SignInRealm, web_client

BOTH = {"view": ["admin", "user"], "edit": ["admin", "user"]}
COMPLETE = {"firstName": "Ada", "lastName": "Lovelace", "attributes": {"department": ["sales"]}}


def _attribute(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "permissions": BOTH, **fields}


OWN = (
    _attribute(
        "department",
        displayName="Department",
        required={"roles": ["user"]},
        validations={"options": {"options": ["sales", "support"]}},
        annotations={"inputOptionLabels": {"sales": "Sales & <b>more</b>"}},
    ),
    _attribute("badge", permissions={"view": ["admin", "user"], "edit": ["admin"]}),
    _attribute("nickname", permissions={"view": ["user"], "edit": ["user"]}),
    _attribute("salary", permissions={"view": ["admin"], "edit": ["admin"]}),
    _attribute("languages", multivalued=True, validations={"length": {"max": 2}}),
    _attribute("code", validations={"pattern": {"pattern": "[A-Z]{2}"}}),
    _attribute("phone", required={"roles": ["user"]}, selector={"scopes": ["phone"]}),
    _attribute("street", required={"scopes": ["address"]}),
)


@pytest.fixture(scope="module")
def profiled(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm with a user profile of its own, and a user with all kinds of attributes."""
    attributes = {
        "department": ["sales"],
        "badge": ["B1"],
        "salary": ["12345"],
        "legacy": ["x", "y"],
    }
    settings: dict[str, Any] = {
        **RECORDED,
        "attributes": {},
        "bruteForceProtected": False,
        "clients": [web_client("app")],
        "users": [
            person(
                "anna",
                email="anna@x.test",
                emailVerified=True,
                firstName="Anna",
                lastName="Arendt",
                attributes=attributes,
            )
        ],
    }
    with administered_realm(administration, "own-profiles", {}, **settings) as realm:
        standard = realm.get("users/profile")
        changed = {**standard, "attributes": [*standard["attributes"], *OWN]}
        realm.change("PUT", "users/profile", changed)
        yield SignInRealm(realm)


@pytest.fixture(autouse=True)
def nothing_yet(profiled: SignInRealm) -> None:
    profiled.events()


def _add(profiled: SignInRealm, username: str, **fields: Any) -> str:
    """Add a user whose profile is complete but for the fields, and return its path."""
    document = {"email": f"{username}@x.test", **COMPLETE, **fields}
    return f"users/{profiled.realm.change('POST', 'users', person(username, **document))}"


def _field_error(page: Page, name: str) -> str:
    """Return the message that is linked to a field."""
    element = re.search(rf'<(?:input|select|textarea) id="{name}"[^>]*>', page.html)
    assert element is not None, name
    linked = f"input-error-{name}"
    if 'aria-invalid="true"' not in element.group():
        assert linked not in page.html
        return ""
    assert f'aria-describedby="{linked}' in element.group()
    shown = re.search(rf'id="{linked}"[^>]*>(.*?)</p>', page.html)
    assert shown is not None
    return unescape(re.sub(r"<[^>]*>", "", shown.group(1))).strip()


def _asked(profiled: SignInRealm, username: str) -> tuple[SignInBrowser, Page]:
    """Sign in, and return the page that the client asks for by `kc_action`."""
    browser = profiled.browser()
    return browser, browser.sign_in(username, kc_action="UPDATE_PROFILE")


def test_a_complete_profile_is_judged_again_after_each_change(profiled: SignInRealm) -> None:
    user = _add(profiled, "vera")

    def is_asked(**asked: str) -> bool:
        page = profiled.browser().sign_in("vera", **asked)
        assert page.id == "login-update-profile" or page.answer["code"]
        return page.id == "login-update-profile"

    assert [is_asked(), is_asked(), is_asked(scope="openid phone"), is_asked()] == [
        *(False, False, True, False),
    ]
    stored = profiled.realm.get(user)
    profiled.realm.change("PUT", user, {**stored, "attributes": {"salary": ["1"]}})
    assert is_asked()
    profiled.realm.change("PUT", user, stored)
    assert not is_asked()
    before = profiled.realm.get("users/profile")
    required = _attribute("motto", required={"roles": ["user"]})
    profiled.realm.change(
        "PUT", "users/profile", {**before, "attributes": [*before["attributes"], required]}
    )
    assert is_asked()
    profiled.realm.change("PUT", "users/profile", before)
    assert not is_asked()
    profiled.realm.change("PUT", user, {**stored, "lastName": ""})
    assert is_asked()


def test_an_incomplete_profile_is_completed_before_the_code(
    profiled: SignInRealm,
) -> None:
    user = f"users/{profiled.realm.change('POST', 'users', person('bert'))}"
    browser = profiled.browser()
    page = browser.sign_in("bert")
    assert page.id == "login-update-profile"
    assert "execution=VERIFY_PROFILE" in page.form.action
    assert 'id="kc-update-profile-form"' in page.html
    assert page.message == "You need to update your user profile to activate your account."
    for name in ("email", "firstName", "lastName", "department"):
        assert _field_error(page, name) == "Please specify this field."
        assert re.search(rf'id="{name}"[^>]*aria-required="true"', page.html)
    assert "cancel-aia" not in page.form.names
    sent = {"email": " Bert@X.test ", "firstName": "Bert", "lastName": "Brecht"}
    assert browser.submit(page, **sent, department="support").answer["code"]
    stored = profiled.realm.get(user)
    assert (stored["email"], stored["firstName"], stored["lastName"]) == (
        *("bert@x.test", "Bert", "Brecht"),
    )
    assert stored["attributes"] == {"department": ["support"]}
    [asked, updated, login] = profiled.events()
    assert (asked["type"], updated["type"], login["type"]) == (
        *("VERIFY_PROFILE", "UPDATE_PROFILE", "LOGIN"),
    )
    assert asked["details"]["fields_to_update"] == "email,firstName,lastName,department"
    assert f"users/{updated['userId']}" == user
    assert (
        updated["details"].items()
        >= {
            "context": "UPDATE_PROFILE",
            "updated_email": "bert@x.test",
            "updated_first_name": "Bert",
            "updated_last_name": "Brecht",
        }.items()
    )
    assert "support" not in str(updated["details"])
    assert profiled.browser().sign_in("bert").answer["code"]


def test_every_message_is_beside_its_field_and_nothing_is_stored(profiled: SignInRealm) -> None:
    user = _add(profiled, "carl", requiredActions=["UPDATE_PROFILE"])
    before = profiled.realm.get(user)
    browser = profiled.browser()
    page = browser.sign_in("carl")
    again = browser.submit(
        page,
        email="no address",
        firstName="<b>",
        lastName=" ",
        department="other",
        languages="de\r\neng",
        code="ab",
    )
    assert (again.status, again.message) == (200, "Please correct the fields that are marked.")
    assert [_field_error(again, name) for name in page.form.fields] == [
        "",
        "Invalid email address.",
        "Value contains invalid character.",
        "Please specify this field.",
        "Invalid value.",
        "",
        "",
        "Maximal length is 2.",
        "Invalid value.",
        "",
    ]
    assert again.form.fields["email"] == "no address"
    assert again.form.fields["languages"] == "de\neng"
    assert "<b>" not in again.html
    assert profiled.realm.get(user) == before
    assert profiled.events() == [], "Keycloak records no event either"
    assert browser.submit(again, **page.form.fields).answer["code"]


def test_names_and_addresses_of_others_are_taken(profiled: SignInRealm) -> None:
    user = _add(profiled, "dora")
    with profiled.changed(editUsernameAllowed=True):
        browser, page = _asked(profiled, "dora")
        taken = browser.submit(page, username="ANNA", email="anna@x.test")
        assert _field_error(taken, "email") == "Email already exists."
        taken = browser.submit(taken, username="ANNA", email="dora@x.test")
        assert _field_error(taken, "username") == "Username already exists."
        for address in ("anna@x.test", "nobody@x.test"):
            taken = browser.submit(taken, username=address, email="dora@x.test")
            assert _field_error(taken, "username") == "Value contains invalid character."
        blank = browser.submit(taken, username=" ")
        assert _field_error(blank, "username") == "Please specify this field."
        assert browser.submit(blank, username="Dorothea").answer["code"]
    assert profiled.realm.get(user)["username"] == "dorothea"


def test_a_form_changes_only_what_the_user_may_change(profiled: SignInRealm) -> None:
    user = f"users/{profiled.user_id('anna')}"
    browser, page = _asked(profiled, "anna")
    assert re.search(r'id="badge"[^>]*value="B1"[^>]* readonly>', page.html)
    assert re.search(r'id="username"[^>]*value="anna"[^>]* readonly>', page.html)
    assert "salary" not in page.html
    assert "legacy" not in page.html
    forged = {"username": "root", "badge": "B2", "salary": "99999", "legacy": "z", "new": "n"}
    allowed = {"lastName": "Zorn", "nickname": "Annie"}
    done = browser.submit(page, **forged, **allowed, emailVerified="false", enabled="false")
    assert done.answer["kc_action_status"] == "success"
    _, again = _asked(profiled, "anna")
    assert again.form.fields["nickname"] == "Annie", "administrators cannot change it"
    policy = profiled.realm.get("users/profile")
    profiled.realm.change("PUT", "users/profile", {**policy, "unmanagedAttributePolicy": "ENABLED"})
    stored = profiled.realm.get(user)
    profiled.realm.change("PUT", "users/profile", policy)
    assert (stored["username"], stored["lastName"]) == ("anna", "Zorn")
    assert (stored["emailVerified"], stored["enabled"]) == (True, True)
    assert stored["attributes"] == {
        "department": ["sales"],
        "badge": ["B1"],
        "salary": ["12345"],
        "legacy": ["x", "y"],
    }


def test_a_new_address_is_not_verified(profiled: SignInRealm) -> None:
    user = _add(profiled, "emil", emailVerified=True)
    browser, page = _asked(profiled, "emil")
    assert browser.submit(page, email="emil@new.test").answer["code"]
    stored = profiled.realm.get(user)
    assert (stored["email"], stored["emailVerified"]) == ("emil@new.test", False)
    details = next(one for one in profiled.events() if one["type"] == "UPDATE_PROFILE")["details"]
    assert (details["previous_email"], details["updated_email"]) == ("emil@x.test", "emil@new.test")
    assert "updated_first_name" not in details


def test_the_user_name_follows_the_address_if_the_realm_says_so(profiled: SignInRealm) -> None:
    user = _add(profiled, "fanny")
    with profiled.changed(registrationEmailAsUsername=True, editUsernameAllowed=True):
        browser, page = _asked(profiled, "fanny")
        assert "username" not in page.form.names
        blank = browser.submit(page, email="")
        assert _field_error(blank, "email") == "Please specify this field."
        assert browser.submit(blank, email="fanny@new.test").answer["code"]
    assert profiled.realm.get(user)["username"] == "fanny@new.test"


def test_options_are_a_list_and_several_values_are_lines(profiled: SignInRealm) -> None:
    user = _add(profiled, "gerd")
    browser, page = _asked(profiled, "gerd")
    assert (
        '<option value="sales" selected>Sales &amp; &lt;b&gt;more&lt;/b&gt;</option>' in page.html
    )
    assert re.search(r'<textarea id="languages"', page.html)
    assert browser.submit(page, languages="de\r\n\r\n en \r\n").answer["code"]
    assert profiled.realm.get(user)["attributes"]["languages"] == ["de", "en"]
    _, page = _asked(profiled, "gerd")
    assert page.form.fields["languages"] == "de\nen"


def test_scopes_decide_what_is_asked_for(profiled: SignInRealm) -> None:
    user = _add(profiled, "hans")
    browser = profiled.browser()
    assert browser.sign_in("hans").answer["code"]
    _, page = _asked(profiled, "hans")
    assert "phone" not in page.form.names
    assert "street" in page.form.names
    page = browser.open(scope="openid phone address")
    assert "execution=VERIFY_PROFILE" in page.form.action
    assert _field_error(page, "phone") == "Please specify this field."
    assert _field_error(page, "street") == "Please specify this field."
    assert browser.submit(page, phone="1", street="Main Street").answer["code"]
    assert browser.submit(browser.open(kc_action="UPDATE_PROFILE")).answer["code"]
    assert profiled.realm.get(user)["attributes"]["phone"] == ["1"], "what was not shown stays"


def test_a_complete_profile_is_not_asked_for_again(profiled: SignInRealm) -> None:
    _add(profiled, "ida", requiredActions=["VERIFY_PROFILE"])
    assert profiled.browser().sign_in("ida").answer["code"]


def test_clients_may_ask_for_the_profile_and_users_may_cancel(profiled: SignInRealm) -> None:
    user = _add(profiled, "jan")
    browser, page = _asked(profiled, "jan")
    assert page.message is None
    cancelled = browser.post(page.form.action, {"cancel-aia": "true", "lastName": "Other"}).answer
    assert (cancelled["kc_action_status"], "code" in cancelled) == ("cancelled", True)
    assert profiled.realm.get(user)["lastName"] == "Lovelace"
    refused = browser.open(kc_action="VERIFY_PROFILE").answer
    assert refused["kc_action_status"] == "error"


def test_what_a_form_may_store_is_limited(profiled: SignInRealm) -> None:
    browser, page = _asked(profiled, "anna")
    many = browser.submit(page, languages="\r\n".join(["de"] * 101))
    assert _field_error(many, "languages") == "Enter at least 0 and at most 100 values."
    long = browser.submit(many, languages="", street="x" * 2049)
    assert _field_error(long, "street") == "Length must be between 0 and 2048."


def test_the_form_is_in_the_language_of_the_user(profiled: SignInRealm) -> None:
    _add(profiled, "karl", lastName="")
    with profiled.changed(internationalizationEnabled=True, supportedLocales=["en", "de"]):
        page = profiled.browser().sign_in("karl", ui_locales="de")
        assert re.search(r'<label for="lastName">Nachname <', page.html)
        assert _field_error(page, "lastName") == "Bitte füllen Sie dieses Feld aus."
        assert "locale" not in page.form.names
