"""The generated tables of docs/performance.md (summary) and docs/performance-results.md."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from bench.figures import number
from bench.workspace import ROOT

_SUMMARY_PAGE: Final = ROOT / "docs" / "performance.md"
_RESULTS_PAGE: Final = ROOT / "docs" / "performance-results.md"
_SUMMARY_MARKS: Final = (
    "<!-- summary of scripts/bench, written by it -->",
    "<!-- end of the summary -->",
)
_RESULT_MARKS: Final = (
    "<!-- results of scripts/bench, written by it -->",
    "<!-- end of the results -->",
)
_SUMMARY: Final = (
    ("tokens", "RS256 tokens", "RS256 tokens, nginx and one worker on one core"),
    ("tokens", "nginx apart: RS256 tokens", "RS256 tokens, one worker alone on its core"),
    ("tokens", "ES256 tokens", "ES256 tokens, nginx and one worker on one core"),
    ("workers", "two workers / one", "two workers on two cores, compared with one on one"),
    ("latency", "at 50%: p50", "latency of an RS256 token at half load, median"),
    ("latency", "at 50%: p99", "the same, 99th percentile"),
    ("introspection", "introspections, RS256 token", "introspections"),
    ("refreshes", "refreshes", "refreshes"),
    ("refreshes", "userinfo", "userinfo requests"),
    ("logins", "27,500 rounds: logins", "password sign-ins, 27,500 iterations of PBKDF2"),
    ("logins", "210,000 rounds: logins", "password sign-ins, 210,000 iterations"),
    ("logins", "600,000 rounds: logins", "password sign-ins, 600,000 iterations (as shipped)"),
    ("sign-ins", "sign-ins without hash", "sign-ins on pages, the password's hash aside"),
    ("sign-ins", "single sign-on", "single sign-ons by cookie, with tokens"),
    ("memory", "one worker with its supervisor", "memory of one worker with its supervisor"),
    ("memory", "each further worker", "memory of each further worker"),
    ("start", "cold start to ready", "start until the first response"),
)
"""Row, figure and label of each line of the summary; what a run has not measured is left out."""


def write_report(document: dict[str, Any]) -> None:
    """Replace the text between the marks of the summary and of the results."""
    _replace(_SUMMARY_PAGE, _SUMMARY_MARKS, "\n".join(_summary(document)))
    _replace(_RESULTS_PAGE, _RESULT_MARKS, _results(document))


def _replace(page: Path, marks: tuple[str, str], content: str) -> None:
    text = page.read_text(encoding="utf-8")
    page.write_text(_between(text, marks, content), encoding="utf-8")


def _between(text: str, marks: tuple[str, str], content: str) -> str:
    begin, end = marks
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n\n{content}\n\n{end}{after}"


def _summary(document: dict[str, Any]) -> Iterator[str]:
    yield "| measurement | result | gate (stretch) | |"
    yield "|---|---:|---|---|"
    for row, name, label in _SUMMARY:
        figures = document["rows"].get(row, {"figures": ()})["figures"]
        yield from (
            _line({**figure, "name": label}) for figure in figures if figure["name"] == name
        )


def _results(document: dict[str, Any]) -> str:
    machine = document["machine"]
    measured = (
        f"Measured on {machine['cores']}"
        f" cores of {machine['processor']}, {machine['system']}, kernel {machine['kernel']},"
        f" Python {machine['python']}, nginx {machine['nginx']}, Node {machine['node']}. A lone"
        f" process had {machine['lone_share']:.0%} of core 0."
    )
    parts = [measured]
    for name, row in document["rows"].items():
        parts.append(f"## {row['title']} (`{name}`)")
        parts.append(f"{row['how']} Measured at {row['measured_at']}, commit {row['commit']}.")
        lines = [_line(figure) for figure in row["figures"]]
        parts.append("\n".join(["| | | gate (stretch) | |", "|---|---:|---|---|", *lines]))
    return "\n\n".join(parts)


def _line(figure: dict[str, Any]) -> str:
    shown = f"{number(figure['value'])} {figure.get('unit', '')}".rstrip()
    gate = verdict = ""
    if "gate" in figure:
        sign = "≥" if figure["more_is_better"] else "≤"
        gate = f"{sign} {number(figure['gate'])} ({number(figure['stretch'])})"
        verdict = "kept" if figure["kept"] else "**missed**"
    return f"| {figure['name']} | {shown} | {gate} | {verdict} |"
