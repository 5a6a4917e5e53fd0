"""Dead links in the documentation: each relative link must lead to a file, and to a heading in it.

Spec: CommonMark 6.3 (links); headings become anchors as on GitHub.
"""

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[1]
SKIPPED = {".venv", ".venv-clients", "var", "node_modules", ".git", ".pytest_cache", ".hypothesis"}
LINK = re.compile(r"\[[^\]\[]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


def dead_links(root: Path) -> Iterator[str]:
    """Yield a line for each link below `root` that leads nowhere."""
    for page in sorted(root.rglob("*.md")):
        if SKIPPED.isdisjoint(page.relative_to(root).parts):
            for target in LINK.findall(CODE.sub("", _prose(page))):
                reason = _reason(page, target)
                if reason:
                    yield f"{page.relative_to(root)}: {target}: {reason}"


def _reason(page: Path, target: str) -> str | None:
    """Tell why a link is dead, None where it is not."""
    if ELSEWHERE.match(target):
        return None
    path, _, anchor = unquote(target).partition("#")
    found = (page.parent / path) if path else page
    if not found.exists():
        return "no such file"
    if anchor and found.suffix == ".md" and anchor not in _anchors(found):
        return "no such heading"
    return None


@cache
def _anchors(page: Path) -> frozenset[str]:
    return frozenset(anchor_of(heading) for heading in HEADING.findall(_prose(page)))


def anchor_of(heading: str) -> str:
    """Return what a link names a heading by, as GitHub makes it."""
    words = re.sub(r"[^\w\- ]", "", heading.lower())
    return words.replace(" ", "-")


@cache
def _prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def main() -> int:
    """Print dead links; returns the exit code."""
    dead = list(dead_links(ROOT))
    print(*dead, sep="\n", end="\n" if dead else "")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main())
