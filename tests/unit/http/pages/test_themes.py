"""Themes: found by name alone, checked when the gateway starts. docs/sign-in-pages.md#themes."""

from pathlib import Path

import pytest

from gateway.domain.errors import InvalidInput
from gateway.domain.realm import Realm
from gateway.http.pages import PageFrame, PageRenderer, Resources, ResourceUrls, load_designs
from gateway.http.pages.theme_check import SAMPLES, check_themes

REALM = Realm("demo", "demo")


def write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


def page(folder: Path, theme: str, sample: str = "login") -> str:
    designs = check_themes(folder)
    renderer = PageRenderer(designs, ResourceUrls.below("", designs.version))
    return renderer.reply(SAMPLES[sample], PageFrame(realm=REALM, theme=theme)).body.decode()


def test_a_theme_adds_its_style_sheet_after_the_built_in_one(tmp_path: Path) -> None:
    write(tmp_path / "acme/static/theme.css", ":root{--radius:0}")
    sheets = [line for line in page(tmp_path, "acme").splitlines() if "stylesheet" in line]
    assert [line.rpartition("/")[2] for line in sheets] == ['realmgate.css">', 'theme.css">']
    designs = load_designs(tmp_path)
    assert Resources.of(designs).find_file("themes/acme/theme.css") == b":root{--radius:0}"
    assert designs.version != load_designs(None).version


def test_a_theme_replaces_templates_and_may_extend_built_in_ones(tmp_path: Path) -> None:
    extended = '{% extends "builtin/login.html" %}{% block title %}<h1>Acme</h1>{% endblock %}'
    write(tmp_path / "acme/templates/login.html", extended)
    found = page(tmp_path, "acme")
    assert "<h1>Acme</h1>" in found
    assert 'id="kc-form-login"' in found
    assert "<h1>Acme</h1>" not in page(tmp_path, "acme", "error")


def test_a_theme_replaces_texts(tmp_path: Path) -> None:
    write(tmp_path / "acme/messages/messages_en.properties", "doLogIn=Enter Acme\n")
    found = page(tmp_path, "acme")
    assert "Enter Acme" in found
    assert "Remember me" in found


@pytest.mark.parametrize("name", ["../acme", "unknown", "", "acme/../acme", "..", "/etc", "a\0b"])
def test_any_other_name_is_the_built_in_design(tmp_path: Path, name: str) -> None:
    write(tmp_path / "acme/static/theme.css", "x")
    assert "theme.css" not in page(tmp_path, name)


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("acme/templates/login.html", "{% block", "templates/login.html, line 1"),
        ("acme/templates/login.html", "{{ page.unknown }}", "page login"),
        ("acme/templates/other.html", "x", "one of account-applications.html"),
        ("acme/static/evil.html", "x", "files that end with .css"),
        ("acme/static/theme.css", "x" * 1_048_577, "at most 1048576 bytes"),
        ("a b/static/theme.css", "x", "a name of letters"),
    ],
)
def test_a_mistake_in_a_theme_is_refused_with_its_place(
    tmp_path: Path, file: str, content: str, says: str
) -> None:
    write(tmp_path / file, content)
    with pytest.raises(InvalidInput) as refused:
        check_themes(tmp_path)
    assert says in str(refused.value)
    assert "REALMGATE_THEMES" in str(refused.value)


@pytest.mark.parametrize(
    "path",
    [
        "../templates/base.html",
        "..%2fviews.py",
        "",
        "/",
        "themes/../realmgate.css",
        "accent/red.css",
    ],
)
def test_no_path_leads_to_another_file(path: str) -> None:
    assert Resources.of(load_designs(None)).find_file(path) is None
