"""Every source that code cites can be opened. Source: docs/reference/README.md.

Docstrings and comments are searched for `Keycloak:`, `Spec:`, `attacks`, sections of standards,
links and pages of docs. A fact that is cited and missing is added to docs/reference.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs/reference"
FOLDERS = ("gateway", "nginx", "scripts", "tests")
KINDS = {".py", ".conf", ".template", ".lua", ".sh", ".yml", ".toml", ""}

DOCSTRING, LINES, COMMENT = '"{3}(.*?)"{3}', r"((?:^[ \t]*(?:#|--)[^\n]*\n)+)", r"((?:#|--) [^\n]*)"
PROSE = re.compile(f"{DOCSTRING}|{LINES}|{COMMENT}", re.DOTALL | re.MULTILINE)
QUOTES = '"' * 3
SOURCE = re.compile(
    r"(?<!than )\b(?:(?P<keycloak>Keycloak)(?::| (?=\d))"
    r"|(?P<specification>Spec(?:ification)?)(?::| (?=part |\d))"
    r"|(?P<attacks>[Aa]ttacks?)(?::| (?=[A-Z]\d)))"
)
SENTENCE_END = re.compile(r"\.(?= [A-Z`]|$)")
IN_BRACKETS = re.compile(r"\([^()]*\)")
SECTIONS = re.compile(
    r"(?:part )?(\d{1,2}(?:\.\d{1,2})*)(?: (?:to|and) (\d{1,2}(?:\.\d{1,2})*))?(.*)"
)
VERSION = re.compile(r"26(\.\d+)*")
TOPIC = re.compile(r" \((?!26)|:? [`\w{/]")
"""What follows a section number: words, a path or a value, in brackets or not; no version alone."""
CLASS = re.compile(r"\b(?:[A-Z]\w*[a-z]\w*[A-Z]\w*|[A-Z]{2,}[a-z]\w+)")
NOT_OF_KEYCLOAK = {"MiB", "OpenID", "PostgreSQL"}
ATTACK = re.compile(r"\b[A-FS]\d{1,2}\b")
RFC = re.compile(r"RFC(?: (\d+))?")
PARAGRAPH = re.compile(r"(?<=[ (\d])§(\S*)")
PARAGRAPH_NUMBER = re.compile(r"(?:\d{1,2}|[A-Z])(?:\.\d{1,2}){0,4}(?!\w)")
LINK = re.compile(r"https?://[^\s<>\"'`)]*")
ISSUE = re.compile(r"\b[Ii]ssue (?:part )?\d+")
PAGE = re.compile(r"(?<![\w/.-])docs/[\w./-]+(?:#[\w-]+)?")
HEADING = re.compile(r"^#{1,6}\s+(.*)$", re.MULTILINE)


def files(folder: str) -> list[Path]:
    """Return the files of a folder that may cite."""
    found = (ROOT / folder).rglob("*")
    return sorted(path for path in found if path.suffix in KINDS and path.is_file())


def prose_of(text: str) -> Iterator[str]:
    """Yield each paragraph of the docstrings and comments in one line."""
    for docstring, lines, comment in PROSE.findall(text):
        plain = docstring or re.sub(r"^[ \t]*(?:#|--) ?", "", lines or comment, flags=re.MULTILINE)
        for paragraph in re.split(r"\n[ \t]*\n", plain):
            yield " ".join(paragraph.split())


def complaints(text: str, *, topics: bool = True) -> Iterator[str]:
    """Yield what is cited in the text and cannot be opened.

    `topics` also asks each citation of Keycloak for a section, a class or a topic.
    """
    for paragraph in prose_of(text):
        yield from _standards(paragraph)
        yield from _links(paragraph)
        for source, cited in _citations(paragraph):
            match source:
                case "keycloak":
                    yield from _keycloak(cited, topics=topics)
                case "specification":
                    unknown = set(_sections(cited)) - headings("specification.md")
                    yield from (f"Spec: {number}" for number in sorted(unknown))
                case _:
                    unknown = set(ATTACK.findall(cited)) - attacks()
                    yield from (f"attacks {row}" for row in sorted(unknown))


def _citations(paragraph: str) -> Iterator[tuple[str, str]]:
    """Yield the group of SOURCE, and what follows up to the next source or sentence."""
    found = [*SOURCE.finditer(paragraph)]
    starts = [match.start() for match in found]
    for match, end in zip(found, [*starts[1:], len(paragraph)], strict=False):
        cited = SENTENCE_END.split(paragraph[match.end() : end], maxsplit=1)[0]
        yield str(match.lastgroup), cited.strip()


def _sections(cited: str) -> Iterator[str]:
    """Yield the section numbers among the parts of a citation."""
    for number, last, _ in _cited_sections(cited):
        yield from filter(None, (number, last))


def _cited_sections(cited: str) -> Iterator[tuple[str, str | None, str]]:
    """Yield the first and the last number of each cited section, and what follows them."""
    for part in re.split(r"[,;](?![^()]*\))", cited):
        match = SECTIONS.match(part.strip())
        if match and _is_section(match[1], match[2], IN_BRACKETS.sub("", match[3]).rstrip()):
            yield match[1], match[2], match[3]


def _is_section(first: str, _last: str | None, rest: str) -> bool:
    """Tell 7.3 and `4.1 step 7` from a version and from `66 kinds`."""
    if VERSION.fullmatch(first) or not re.match(r"$|[ :.)]", rest):
        return False
    return "." in first or re.match(r"$|[:.)]| step| `", rest) is not None


def _keycloak(cited: str, *, topics: bool) -> Iterator[str]:
    sections = set(_sections(cited))
    classes = set(CLASS.findall(cited)) - NOT_OF_KEYCLOAK
    yield from (f"Keycloak: {number}" for number in sorted(sections - keycloak_sections()))
    yield from (f"Keycloak: {name}" for name in sorted(classes - keycloak_classes()))
    if topics:
        numbers = [number for number, _, rest in _cited_sections(cited) if not TOPIC.match(rest)]
        yield from (f"Keycloak: {number} without its topic" for number in numbers)
    known = sections or classes or VERSION.match(cited)
    if topics and not known and not any(topic in cited.lower() for topic in keycloak_topics()):
        yield f"Keycloak: {cited}"


def _standards(paragraph: str) -> Iterator[str]:
    for number in RFC.findall(paragraph):
        if not 1 <= int(number or 0) <= 9999:
            yield f"RFC {number}"
    for number in PARAGRAPH.findall(paragraph):
        if not PARAGRAPH_NUMBER.match(number):
            yield f"§{number}"


def _links(paragraph: str) -> Iterator[str]:
    yield from ISSUE.findall(paragraph)
    for link in LINK.findall(paragraph):
        host = urlsplit(link.rstrip(".,;")).hostname or ""
        if not re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)*", host):
            yield link
    for page in PAGE.findall(paragraph):
        path, _, anchor = page.rstrip("./").partition("#")
        if not (ROOT / path).exists() or (anchor and anchor not in anchors(path)):
            yield page


@cache
def anchors(page: str) -> frozenset[str]:
    """Return the anchors of a page, made as GitHub makes them."""
    titles = HEADING.findall((ROOT / page).read_text(encoding="utf-8"))
    return frozenset(re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles)


@cache
def headings(page: str) -> frozenset[str]:
    """Return the section numbers that begin the headings of a page of the reference."""
    titles = HEADING.findall((REFERENCE / page).read_text(encoding="utf-8"))
    return frozenset(re.findall(r"^(\d+(?:\.\d+)*)\.? ", "\n".join(titles), re.MULTILINE))


@cache
def keycloak_sections() -> frozenset[str]:
    """Return the sections of all pages about Keycloak."""
    pages = [page.name for page in REFERENCE.glob("keycloak*.md")]
    return frozenset[str]().union(*map(headings, pages))


def _first_cells(page: str, title: str) -> list[str]:
    """Return the first cells of the rows of one section."""
    text = (REFERENCE / page).read_text(encoding="utf-8")
    section = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| (.*?) \|", section, re.MULTILINE)[1:]


@cache
def keycloak_classes() -> frozenset[str]:
    """Return the class names that the page of names explains."""
    return frozenset(re.findall(r"\w+", " ".join(_first_cells("keycloak-names.md", "Class names"))))


@cache
def keycloak_topics() -> tuple[str, ...]:
    """Return the topics that the page of names explains, in lower case."""
    return tuple(", ".join(_first_cells("keycloak-names.md", "Topics")).lower().split(", "))


@cache
def attacks() -> frozenset[str]:
    """Return the ids of the rows about attacks."""
    pages = (REFERENCE / "attacks.md", REFERENCE / "figures-and-traps.md")
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    return frozenset(re.findall(r"^\| ([A-Z]\d+) \|", text, re.MULTILINE))


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_citation_can_be_opened(folder: str) -> None:
    found = {
        str(file.relative_to(ROOT)): [*complaints(text, topics=folder != "tests")]
        for file in files(folder)
        if (text := file.read_text(encoding="utf-8", errors="replace"))
    }
    assert {file: wrong for file, wrong in found.items() if wrong} == {}


def test_the_citations_of_the_program_are_seen() -> None:
    seen: Counter[str] = Counter()
    for file in files("gateway"):
        for paragraph in prose_of(file.read_text(encoding="utf-8")):
            seen.update(source for source, _ in _citations(paragraph))
    assert seen["keycloak"] > 200
    assert seen["attacks"] > 10
    assert seen["specification"] > 100


@pytest.mark.parametrize(
    ("cited", "wrong"),
    [
        ("Keycloak: 7.3 (clients), 9 (roles); 0.3 headers. Keycloak checks less.", []),
        ("Keycloak: 12.6 logout, 7.3", ["Keycloak: 7.3 without its topic"]),
        ("Keycloak: 11.2 (26.7)", ["Keycloak: 11.2 without its topic"]),
        ("Keycloak: 9.", ["Keycloak: 9 without its topic"]),
        ("Keycloak: 12.10 to 12.12 sign-in, 7.2 users/{id}", []),
        ("Keycloak: 4.1 step 7 (permanentLockout)", []),
        ("Keycloak: 1.5 password grant (26.7), VERIFY_PROFILE", []),
        ("Keycloak: EventType (26.7), 66 kinds", []),
        ("Keycloak: 26.7.3", []),
        ("Keycloak 1.2: blank, the authenticator never succeeds", []),
        ("Keycloak: 7.9 users", ["Keycloak: 7.9"]),
        ("Keycloak: 7.2 (GET users), 7.9 (nothing)", ["Keycloak: 7.9"]),
        ("Keycloak: 10.1 to 10.9 events", ["Keycloak: 10.9"]),
        ("Keycloak: 19 (nothing)", ["Keycloak: 19"]),
        ("Keycloak 7.9: no such section", ["Keycloak: 7.9"]),
        ("Keycloak: GroupRepresentation; UPConfig", []),
        ("Keycloak: GroupImagination", ["Keycloak: GroupImagination"]),
        ("Keycloak: realm import, users", []),
        ("Stricter than Keycloak: attempts close together lock", []),
        ("Keycloak: the tea ceremony", ["Keycloak: the tea ceremony"]),
        ("Spec: 2.1 (session settings); Keycloak: 3 (sessions)", []),
        ("Spec: part 8, rules 1 and 2", []),
        ("Spec: 2.9", ["Spec: 2.9"]),
        ("Specification 2.9: something", ["Spec: 2.9"]),
        ("Spec: attacks A1 to A4, A20; Keycloak: 11.1 lookup, 13 (transport)", []),
        ("attacks: D1, D99", ["attacks D99"]),
        ("Attacks S4, S99.", ["attacks S99"]),
        ("Spec: RFC 8705 §2.1.2, §7.4; RFC 8018 §A.1; X.690 §8, §10", []),
        ("Spec: RFC 87050 §2", ["RFC 87050"]),
        ("Spec: RFC 8705 §two §123", ["§two", "§123"]),
        ("Source: docs/reference/keycloak.md#0-answers", []),
        ("Source: docs/reference/gone.md", ["docs/reference/gone.md"]),
        ("Source: docs/reference/keycloak.md#gone", ["docs/reference/keycloak.md#gone"]),
        ("Issue part 5: sessions", ["Issue part 5"]),
        ("Source: https://www.sqlite.org/fts5.html, https://", ["https://"]),
    ],
)
def test_a_citation_that_leads_nowhere_is_found(cited: str, wrong: list[str]) -> None:
    assert [*complaints(f"{QUOTES}A rule. {cited}{QUOTES}\n")] == wrong
    assert [*complaints(f"x = 1\n# A rule.\n# {cited}\ny = 2\n")] == wrong


def test_a_citation_may_go_on_in_the_next_line() -> None:
    text = f"{QUOTES}A rule.\n\nKeycloak: 7.3 (groups,\n    children), 7.9 users\n{QUOTES}"
    assert [*complaints(text)] == ["Keycloak: 7.9"]
