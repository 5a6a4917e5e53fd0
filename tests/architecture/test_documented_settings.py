"""The pages that name tests, on settings, attacks and faults, name tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "sessions-and-lock-outs.md"
PAGES = {
    "sessions": [PAGE, PAGE.with_name("lock-outs.md")],
    "attacks": [
        ROOT / "docs/attacks-and-faults.md",
        *sorted((ROOT / "docs").glob("attacks-on-*.md")),
        ROOT / "docs/faults-and-restarts.md",
        ROOT / "docs/published-vulnerabilities.md",
    ],
    "threats": [ROOT / "docs/threat-model.md", *sorted((ROOT / "docs").glob("threats-of-*.md"))],
}
_NAMED = re.compile(r"\[[\w.]+\]\(\.\./(?P<file>tests/[\w/]+\.py)\)\s+`(?P<test>test_\w+)`")

_OF_CONCERN = re.compile(
    r'"((?:sso|client|offline)\w*Session\w+|\w*[lL]ockout\w*|quickLogin\w+|failureFactor'
    r'|waitIncrement\w+|revokeRefreshToken|refreshTokenMaxReuse)"'
)


@pytest.mark.parametrize("topic", PAGES)
def test_every_test_that_the_pages_name_exists(topic: str) -> None:
    named = [found for page in PAGES[topic] for found in _NAMED.findall(page.read_text())]
    missing = [
        f"{file}: {test}" for file, test in named if f"def {test}(" not in (ROOT / file).read_text()
    ]
    assert len(named) > 20
    assert missing == []


def test_every_setting_of_sessions_and_lock_outs_is_on_the_page() -> None:
    """What a realm file may say here must have its test."""
    fields = (ROOT / "gateway" / "representations" / "realms" / "fields.py").read_text()
    concerned = {name for name in _OF_CONCERN.findall(fields) if "_" not in name}
    page = PAGE.read_text()
    assert len(concerned) >= 14
    assert [name for name in concerned if name not in page] == []
