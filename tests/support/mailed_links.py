"""A realm whose users get mails with links, and what arrives."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Any

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import Administration
from tests.support.gateway_process import until
from tests.support.mail_server import MailServer, mail_server
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import SignInBrowser, SignInRealm, query_of, web_client


@dataclass(frozen=True, slots=True)
class MailedRealm(SignInRealm):
    """A realm that sends its mails to `server`."""

    server: MailServer

    def add(self, username: str, **fields: Any) -> str:
        """Add a user with an address of that name, and return the path of the user."""
        document = person(username, **{"email": f"{username}@example.org", **fields})
        return f"users/{self.realm.change('POST', 'users', document)}"

    def mails(self, address: str, count: int = 1) -> list[EmailMessage]:
        """Return the mails to an address once there are that many."""

        def found() -> list[EmailMessage]:
            sent = [each for each in self.server.messages if each["to"] == address]
            return sent if len(sent) >= count else []

        return until(found, f"no {count} mails to {address}")

    def link(self, address: str, count: int = 1) -> str:
        """Return the link of the last mail to an address."""
        return link_of(self.mails(address, count)[-1])


def link_of(mail: EmailMessage) -> str:
    """Return the link in the text of a mail."""
    body = mail.get_body(("plain",))
    assert body is not None
    (found,) = [line for line in body.get_content().splitlines() if line.startswith("https://")]
    return str(found)


def key_of(link: str) -> str:
    """Return the token of a link."""
    return query_of(link)["key"]


def follow(browser: SignInBrowser, link: str) -> Any:
    """Open a link and press its button."""
    return browser.submit(browser.get(link))


@contextmanager
def mailed_realm(
    administration: Administration, name: str, administrators: dict[str, list[str]], **more: Any
) -> Iterator[MailedRealm]:
    """Make a realm that sends mails."""
    with mail_server() as server:
        settings = {
            **RECORDED,
            "bruteForceProtected": False,
            "displayName": "Acme <b>North</b>",
            "clients": [web_client("app", baseUrl="https://app.example.test/home")],
            "smtpServer": server.settings(),
            **more,
        }
        with administered_realm(administration, name, administrators, **settings) as realm:
            yield MailedRealm(realm, server)
