"""Settings of realms that act: what each means, its source, and the test that observes it.

docs/realm-settings.md shows them. A setting that begins to act gets a row in one of the modules of
rows, and leaves the list of those that wait for something, in realm_rows.py.
"""

from dataclasses import dataclass
from typing import Final

from gateway.representations.setting_effects import (
    realm_certificates,
    realm_lifetimes,
    realm_sign_ins,
    realm_web_authn,
)


@dataclass(frozen=True, slots=True)
class RealmSetting:
    """One setting.

    `source` is a section of the pages in docs/reference; `test` is the `file::function` that
    changes the setting over the admin API of a running gateway and sees the effect over HTTP.
    """

    name: str
    meaning: str
    source: str
    test: str


REALM_SETTINGS: Final = {
    title: tuple(RealmSetting(*row) for row in rows)
    for title, rows in {
        "The realm": realm_sign_ins.GENERAL,
        "Tokens and codes": realm_lifetimes.TOKENS,
        "Sessions": realm_lifetimes.SESSIONS,
        "Lock-outs": realm_lifetimes.GUARDED,
        "Passwords and one-time passwords": realm_sign_ins.CREDENTIALS,
        "Security keys": realm_web_authn.SECURITY_KEYS,
        "Passkeys": realm_web_authn.PASSKEYS,
        "Events": realm_sign_ins.EVENTS,
        "Sign-ins": realm_sign_ins.SIGN_INS,
        "Pages and mails": realm_sign_ins.SHOWN,
    }.items()
}
"""Fields of realms, by what they are about."""
REALM_ATTRIBUTES: Final = tuple(
    RealmSetting(*row) for row in (*realm_sign_ins.ATTRIBUTES, *realm_certificates.ATTRIBUTES)
)
"""Attributes of realms that are no fields."""
