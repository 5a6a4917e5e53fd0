"""Themes of mails: found by name alone, checked when the gateway starts."""

from functools import partial
from pathlib import Path

import pytest

from gateway.domain.errors import InvalidInput
from gateway.mail import load_mail_themes
from tests.support.administered_realm import administered_realm, person
from tests.support.administration import Administration
from tests.support.gateway_process import until
from tests.support.mail_server import MailServer, mail_server

_EXTENDED = (
    '{% extends "builtin/mail.html" %}{% block header %}<h1 class="acme">{{ title }}</h1>'
    "{% endblock %}"
)


def _write(folder: Path, name: str, content: str | bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def _has_received(server: MailServer, number: int) -> bool:
    return len(server.envelopes) == number


def test_a_realm_names_its_mail_theme_and_unknown_ones_fall_back(
    administration: Administration,
) -> None:
    """The gateway of these tests has the theme `acme`."""
    themes = {"acme": True, "unknown": False, "../acme": False}
    with (
        mail_server() as server,
        administered_realm(
            administration,
            "mailed-by-theme",
            {},
            smtpServer=server.settings(),
            displayName="<i>Acme</i>",
        ) as realm,
    ):
        realm.change("POST", "users", person("ada", email="ada@example.com"))
        for number, (theme, is_themed) in enumerate(themes.items(), start=1):
            realm.change("PUT", "", {"emailTheme": theme})
            sent = administration.command("mail", "test", "ada", "--realm", realm.name)
            assert sent.exit_code == 0, sent.output
            until(partial(_has_received, server, number), "no mail was sent")
            html = server.messages[-1].get_body(("html",))
            assert html is not None
            assert ('<h1 class="acme">' in html.get_content()) is is_themed
            assert "&lt;i&gt;Acme" in html.get_content()


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("acme/email/mail.html", "{{ unknown }}", "renders"),
        ("acme/email/mail.html", "{% block %}", "line 1"),
        ("acme/email/mail.html", '{% include "/etc/passwd" %}', "renders"),
        ("acme/email/mail.html", b"\xff", "UTF-8"),
        ("acme/email/mail.html", "x" * 1_048_577, "at most"),
        ("acme/email/page.html", "x", "mail.html alone"),
        ("acme/email/mail.html", "{{ link[0] }}", "renders"),
    ],
)
def test_a_broken_template_ends_the_start_with_its_file(
    tmp_path: Path, file: str, content: str | bytes, says: str
) -> None:
    _write(tmp_path, file, content)
    with pytest.raises(InvalidInput, match=says) as caught:
        load_mail_themes(tmp_path)
    assert file in str(caught.value)


def test_a_theme_without_mails_has_the_built_in_ones(tmp_path: Path) -> None:
    _write(tmp_path, "acme/static/theme.css", "")
    assert set(load_mail_themes(tmp_path)) == {""}
    _write(tmp_path, "acme/email/mail.html", _EXTENDED)
    assert set(load_mail_themes(tmp_path)) == {"", "acme"}
