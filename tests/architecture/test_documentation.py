"""The documentation says what the program does: settings, and links that lead somewhere."""

import configparser
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.cli import COMMANDS
from gateway.settings import SETTING_NAMES, file_variable, variable

ROOT = Path(__file__).resolve().parents[2]
LONGEST_README = 110


def _script(name: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", f"scripts.{name}", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_page_of_settings_is_the_programs() -> None:
    made = _script("settings_page")
    assert made.returncode == 0, made.stderr
    assert (ROOT / "docs/settings.md").read_text(encoding="utf-8") == made.stdout, (
        "make it anew: python -m scripts.settings_page > docs/settings.md"
    )


def test_the_openapi_document_is_the_gateways() -> None:
    made = _script("openapi_page")
    assert made.returncode == 0, made.stderr
    assert (ROOT / "docs/openapi.json").read_text(encoding="utf-8") == made.stdout, (
        "make it anew: python -m scripts.openapi_page > docs/openapi.json"
    )


def test_the_page_of_the_admin_api_is_the_gateways() -> None:
    made = _script("admin_api_page", "--check")
    assert made.returncode == 0, f"make it anew: python -m scripts.admin_api_page {made.stderr}"


def test_no_link_is_dead() -> None:
    checked = _script("check_links")
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[a](gone.md)", "gone.md: no such file"),
        ("[a](page.md#gone)", "page.md#gone: no such heading"),
        ("[a](#no-heading)", "#no-heading: no such heading"),
        ("[a](page.md#a-heading-with-code) [b](#a-heading-with-code) [c](https://x.test/y)", ""),
        ("`[a](gone.md)`\n\n```\n[b](gone.md)\n```", ""),
    ],
)
def test_a_dead_link_is_found(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts/check_links.py"
    script.write_text((ROOT / "scripts/check_links.py").read_text())
    (tmp_path / "page.md").write_text(f"# A heading, with `code`\n\n{text}\n")
    checked = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, timeout=60
    )
    assert checked.returncode == (1 if complaint else 0)
    assert checked.stdout.strip() == (f"page.md: {complaint}" if complaint else "")


def test_the_readme_stays_within_two_screens() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= LONGEST_README


def test_the_example_of_settings_names_settings() -> None:
    """What systemd reads: a name that is none would keep the gateway from starting."""
    known = {variable(field) for field in SETTING_NAMES}
    known |= {name for field in SETTING_NAMES if (name := file_variable(field))}
    lines = (ROOT / "docs/examples/realmgate.env").read_text(encoding="utf-8").splitlines()
    names = {line.partition("=")[0] for line in lines if not line.startswith("#")}
    assert len(names) > 5
    assert names - known == set()


def test_the_systemd_unit_starts_from_the_example_settings() -> None:
    unit = configparser.ConfigParser(delimiters=("=",), interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign] # names in capitals and small letters
    unit.read(ROOT / "docs/examples/realmgate.service", encoding="utf-8")
    service = unit["Service"]
    assert service["ExecStart"].split()[-2:] == ["/opt/realmgate/bin/realmgate", "start"]
    assert Path(service["EnvironmentFile"]).name == "realmgate.env"
    settings = (ROOT / "docs/examples/realmgate.env").read_text(encoding="utf-8")
    for folder in service["ReadWritePaths"].split():
        assert folder in settings
    assert service["NoNewPrivileges"] == "yes"


def test_the_nginx_unit_runs_the_rendered_configuration() -> None:
    unit = configparser.ConfigParser(delimiters=("=",), interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign] # names in capitals and small letters
    unit.read(ROOT / "docs/examples/realmgate-nginx.service", encoding="utf-8")
    page = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    assert "nginx render --output /etc/realmgate/nginx " in page
    assert " -c /etc/realmgate/nginx/realmgate.conf " in unit["Service"]["ExecStart"]


def test_every_command_is_documented() -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), *ROOT.glob("*/README.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    assert [name for name in COMMANDS if f"realmgate {name}" not in text] == []


@pytest.mark.parametrize(
    "file", ["tests/quick.txt", "tests/newest_python.txt", "tests/http/through_nginx.txt"]
)
def test_lists_of_tests_name_files_that_exist(file: str) -> None:
    """`scripts/test` reads them."""
    listed = (ROOT / file).read_text(encoding="utf-8").splitlines()
    assert listed
    assert [line for line in listed if not (ROOT / line.partition("::")[0]).exists()] == []


GENERATED_PAGES = {
    "docs/admin-api-operations.md",
    "docs/certificate-outcomes.md",
    "docs/effects-of-settings.md",
    "docs/performance-results.md",
    "docs/realm-settings.md",
}
"""Reference that scripts write: looked up by search, not read from the beginning."""
MOST_WORDS = 2500


def test_no_page_has_more_than_2500_words() -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", *ROOT.glob("*/README.md")]
    words = {
        str(page.relative_to(ROOT)): len(page.read_text(encoding="utf-8").split()) for page in pages
    }
    assert words.keys() >= GENERATED_PAGES
    long = {page for page, count in words.items() if count > MOST_WORDS}
    assert long - GENERATED_PAGES == set(), "split the page by concept"
