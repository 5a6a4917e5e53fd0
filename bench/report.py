"""The tables of docs/performance.md, written anew from the results of a whole run."""

from typing import Any

from bench.figures import number
from bench.workspace import ROOT

_PAGE = ROOT / "docs" / "performance.md"
_BEGIN = "<!-- results of scripts/bench, written by it -->"
_END = "<!-- end of the results -->"


def write_report(document: dict[str, Any]) -> None:
    """Replace what stands between the two marks."""
    text = _PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    page = f"{before}{_BEGIN}\n{_results(document)}\n{_END}{after}"
    _PAGE.write_text(page, encoding="utf-8")


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
        parts.append(f"### {row['title']} (`{name}`)")
        parts.append(f"{row['how']} Measured at {row['measured_at']}, commit {row['commit']}.")
        lines = [_line(figure) for figure in row["figures"]]
        parts.append("\n".join(["| | | gate (stretch) | |", "|---|---:|---|---|", *lines]))
    return "\n" + "\n\n".join(parts) + "\n"


def _line(figure: dict[str, Any]) -> str:
    shown = f"{number(figure['value'])} {figure.get('unit', '')}".rstrip()
    gate = verdict = ""
    if "gate" in figure:
        sign = "≥" if figure["more_is_better"] else "≤"
        gate = f"{sign} {number(figure['gate'])} ({number(figure['stretch'])})"
        verdict = "kept" if figure["kept"] else "**missed**"
    return f"| {figure['name']} | {shown} | {gate} | {verdict} |"
