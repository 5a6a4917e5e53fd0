"""Security keys and passkeys of a Chromium without hardware, by the protocol of its tools."""

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page


@dataclass(frozen=True, slots=True)
class Keys:
    """The authenticator of a browser, as the protocol of its developer tools has it."""

    page: Page
    tools: Any
    id: str

    def credentials(self) -> list[dict[str, Any]]:
        found = self.tools.send("WebAuthn.getCredentials", {"authenticatorId": self.id})
        credentials: list[dict[str, Any]] = found["credentials"]
        return credentials

    def touch(self, *, present: bool) -> None:
        """Say whether the user touches the authenticator when it asks."""
        said = {"authenticatorId": self.id, "enabled": present}
        self.tools.send("WebAuthn.setAutomaticPresenceSimulation", said)

    def verify(self, *, verified: bool) -> None:
        """Say whether the user passes the PIN or fingerprint."""
        said = {"authenticatorId": self.id, "isUserVerified": verified}
        self.tools.send("WebAuthn.setUserVerified", said)


def add_authenticator(page: Page) -> Keys:
    """Give a tab an authenticator, whose user is there and is verified."""
    tools = page.context.new_cdp_session(page)
    tools.send("WebAuthn.enable", {"enableUI": False})
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    made = tools.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    return Keys(page, tools, made["authenticatorId"])
