"""The report of the doctor, as lines for people or as JSON."""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any

from gateway.cli.doctor.findings import Examination, Finding, Outcome
from gateway.cli.output import visible

_INDENT = " " * 6


def text_lines(examination: Examination) -> Iterator[str]:
    """Yield the lines of one examination; names that come from files are escaped."""
    match examination.outcome:
        case Outcome.OK:
            if examination.text:
                yield f"ok    {visible(examination.text)}"
        case Outcome.WARNING:
            yield from _warning_lines(examination)
        case Outcome.NOT_DONE:
            yield f"-     {examination.name} was not done: {visible(examination.text)}"
        case Outcome.WRONG:
            for remedy, findings in groupby(examination.findings, attrgetter("remedy")):
                for finding in findings:
                    yield from _problem_lines(examination, finding)
                if remedy:
                    yield f"{_INDENT}Remedy: {visible(remedy)}"
                for source in examination.sources:
                    yield f"{_INDENT}Seen in {source}"


def _warning_lines(examination: Examination) -> Iterator[str]:
    for finding in examination.findings:
        yield f"warn  {visible(finding.problem)}"
        yield f"{_INDENT}Remedy: {visible(finding.remedy)}"


def _problem_lines(examination: Examination, finding: Finding) -> Iterator[str]:
    if finding.place is not None:
        yield f"WRONG {visible(str(finding.place))} {examination.name}"
        yield f"{_INDENT}{visible(finding.problem)}"
    else:
        yield f"WRONG {visible(finding.problem)}"


def json_report(examinations: Iterable[Examination]) -> str:
    """Return the whole report as one JSON object."""
    listed = list(examinations)
    wrong = any(each.outcome is Outcome.WRONG for each in listed)
    report = {
        "result": str(Outcome.WRONG if wrong else Outcome.OK),
        "examinations": list(map(_json, listed)),
    }
    return json.dumps(report, indent=2)


def _json(examination: Examination) -> dict[str, Any]:
    return {
        "name": examination.name,
        "outcome": str(examination.outcome),
        "text": examination.text,
        "findings": [
            {
                "problem": finding.problem,
                "remedy": finding.remedy,
                "file": None if finding.place is None else finding.place.file,
                "line": None if finding.place is None else finding.place.line,
            }
            for finding in examination.findings
        ],
        "sources": list(examination.sources),
    }
