"""Probe."""

from concurrent.futures import ThreadPoolExecutor
from tests.http.test_delete_actions import *  # noqa
from tests.http.test_delete_actions import _add, _PHONE, _held, _code
from tests.http.test_hostile_accounts import (
    mailed,
    account,
    _registers,
    _verified,
    _asks_for_reset,
    _sets_password,
    NEW,
    NAMES,
)  # noqa
from tests.support.mailed_links import follow, key_of
from tests.support.sign_in_browser import query_of

for _n in [n for n in dir() if n.startswith("test_")]:
    del globals()[_n]


def test_enrol_weak_client(deleting):
    _add(deleting, "zoe", _PHONE)
    flow = {"authenticationFlowBindingOverrides": {"browser": "deletions-passwords-alone"}}
    [app] = deleting.realm.get("clients?clientId=app")
    deleting.realm.change("PUT", f"clients/{app['id']}", {**app, **flow})
    out = {}
    with deleting.changed(browserFlow="levels"):
        for action in (
            "CONFIGURE_TOTP",
            "webauthn-register",
            "CONFIGURE_RECOVERY_AUTHN_CODES",
            "UPDATE_PASSWORD",
            "UPDATE_EMAIL",
        ):
            browser = deleting.browser()
            out[action] = browser.sign_in("zoe", kc_action=action).id
    overrides = {"authenticationFlowBindingOverrides": {"browser": ""}}
    deleting.realm.change("PUT", f"clients/{app['id']}", {**app, **overrides})
    print("ENROL", out)


def test_reset_and_level(deleting):
    pass


def test_registration_race(mailed):
    with mailed.changed(verifyEmail=False):
        pages = []
        for n in range(8):
            b = mailed.browser()
            pages.append((b, b.open(prompt="create")))

        def go(i):
            b, p = pages[i]
            return b.submit(
                p,
                username=f"race{i}",
                email="Race@Example.org",
                **NAMES,
                password=NEW,
                **{"password-confirm": NEW},
            ).status

        with ThreadPoolExecutor(8) as pool:
            print(
                "RACE",
                list(pool.map(go, range(8))),
                len(mailed.realm.get("users?email=race@example.org")),
            )


def test_unicode(mailed):
    _verified(mailed, "kim", email="kim@example.org")
    out = {}
    with mailed.changed(verifyEmail=False):
        for i, e in enumerate(
            (
                "\u212aim@example.org",
                "KIM@EXAMPLE.ORG",
                " kim@example.org ",
                "kim@example.org.",
                "kim@ex\u00adample.org",
                "k\u0131m@example.org",
                "kim@\uff45xample.org",
                "kim@example.org\u200b",
            )
        ):
            b, p = _registers(mailed, f"uni{i}", e)
            found = mailed.realm.get(f"users?username=uni{i}&exact=true")
            out[ascii(e)] = (
                p.status,
                p.id if p.status == 200 else p.answer.get("code", "?")[:4],
                [ascii(u.get("email")) for u in found],
            )
    for k, v in out.items():
        print("UNI", k, v)


def test_username_as_foreign_address(mailed):
    _verified(mailed, "lena")
    with mailed.changed(verifyEmail=False):
        b, p = _registers(mailed, "lena@example.org", "evil@example.org")
        print("NAMEASADDR existing", p.status, p.id if p.status == 200 else p.answer)
        b, p = _registers(mailed, "future@example.org", "evil2@example.org")
        print("NAMEASADDR future", p.status, p.id if p.status == 200 else sorted(p.answer))


def test_cross_realm_link_and_csrf_of_link(mailed):
    _verified(mailed, "mona")
    _asks_for_reset(mailed, "mona")
    link = mailed.link("mona@example.org")
    key = key_of(link)
    for headers in (
        {"Origin": "https://evil.test"},
        {"Origin": "null"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "cross-site"},
    ):
        b = mailed.browser(**headers)
        p = b.post(f"/realms/{mailed.realm.name}/login-actions/action-token", {"key": "x" + key})
        print("LINKCSRF", headers, p.status, p.text[:80])
    b = mailed.browser(Host="evil.test")
    p = b.get(link)
    print("HOST", p.status, "evil.test" in p.html)


def test_reset_then_other_sessions(mailed):
    user = _verified(mailed, "nina")
    thief = mailed.browser()
    print("THIEF", thief.sign_in("nina").status)
    owner, _ = _asks_for_reset(mailed, "nina")
    page = follow(owner, mailed.link("nina@example.org"))
    print(
        "CHECKBOX", 'name="logout-sessions"' in page.html, "checked" in page.html, page.form.fields
    )
    _sets_password(owner, page)
    print("THIEFAFTER", thief.open(prompt="none").answer.get("error", "STILL IN"))


def test_mail_flood_update_email(mailed):
    """One account, many recipients / one recipient by many accounts."""
    found = mailed.realm.get("authentication/required-actions/UPDATE_EMAIL")
    mailed.realm.change(
        "PUT",
        "authentication/required-actions/UPDATE_EMAIL",
        {**found, "config": {"emailResendCooldownSeconds": "0"}},
    )
    count = 0
    for n in range(4):
        _verified(mailed, f"flood{n}", requiredActions=["UPDATE_EMAIL"])
        b = mailed.browser()
        p = b.sign_in(f"flood{n}")
        for _ in range(4):
            p = b.submit(p, email="victim@other.test")
    mailed.realm.change("PUT", "authentication/required-actions/UPDATE_EMAIL", found)
    try:
        print("FLOOD", len(mailed.mails("victim@other.test", 16)))
    except BaseException as e:
        print(
            "FLOOD less", len([m for m in mailed.server.messages if m["to"] == "victim@other.test"])
        )


def test_device_page_markup(mailed):
    _verified(mailed, "jill")
    evil = "<script>alert(1)</script>'\"><img src=x onerror=1> Chrome/1<b>.0 (Windows NT <i>)"
    browser = mailed.browser(**{"User-Agent": evil})
    page = browser.get(f"/realms/{mailed.realm.name}/account/account-security/device-activity")
    from tests.support.administration import PASSWORD

    browser.submit(page, username="jill", password=PASSWORD)
    page = browser.get(f"/realms/{mailed.realm.name}/account/account-security/device-activity")
    print(
        "UA", page.status, "<script>alert" in page.html, "onerror" in page.html, "<i>)" in page.html
    )


def test_two_registration_links_confusion(mailed):
    """A verify link of registration of account A opened in a browser that waits as B."""
    a, _ = _registers(mailed, "owen", "owen@example.org")
    b, page = _registers(mailed, "pete", "pete@example.org")
    done = follow(b, mailed.link("owen@example.org"))
    print("CONFUSED", done.status, done.id if done.status == 200 else done.location[:120])
    found = {
        n: mailed.realm.get(f"users?username={n}&exact=true")[0]["emailVerified"]
        for n in ("owen", "pete")
    }
    print("CONFUSED", found)
