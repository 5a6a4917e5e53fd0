"""Findings of the doctor: a problem, its place, and its remedy."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from operator import attrgetter
from typing import Any

from gateway.cli.output import visible


@dataclass(frozen=True, slots=True, order=True)
class FilePlace:
    """A line of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem, of nginx with the line at fault; `remedy` is empty where the problem says it."""

    problem: str
    remedy: str
    place: FilePlace | None = None


class ExaminationOutcome(StrEnum):
    """How an examination ended; a skipped one proves nothing."""

    OK = "ok"
    WARNING = "warning"
    """It works, and should be changed: the exit code stays 0."""
    WRONG = "wrong"
    NOT_DONE = "not done"


@dataclass(frozen=True, slots=True)
class Examination:
    """A check or an attack. `text` describes the good state, or why it was not done.

    `sources` are public threads about the same mistake.
    """

    name: str
    outcome: ExaminationOutcome
    text: str = ""
    findings: tuple[Finding, ...] = ()
    sources: tuple[str, ...] = ()


class ProblemFound(Exception):
    """A problem; `str()` says what, and what to do. Several problems are `findings`."""

    def __init__(self, text: str = "", findings: tuple[Finding, ...] = ()) -> None:
        super().__init__(text)
        self.findings = findings or (Finding(text, ""),)


class NotChecked(Exception):
    """A check that another problem prevents; `str()` says why."""


class WarningFound(Exception):
    """Something that works and should be changed."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        super().__init__()
        self.findings = findings


_INDENT = " " * 6


def text_lines(examination: Examination) -> Iterator[str]:
    """Yield the lines of one examination; names that come from files are escaped."""
    match examination.outcome:
        case ExaminationOutcome.OK:
            if examination.text:
                yield f"ok    {visible(examination.text)}"
        case ExaminationOutcome.WARNING:
            yield from _warning_lines(examination)
        case ExaminationOutcome.NOT_DONE:
            yield f"-     {examination.name} was not done: {visible(examination.text)}"
        case ExaminationOutcome.WRONG:
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
    wrong = any(each.outcome is ExaminationOutcome.WRONG for each in listed)
    report = {
        "result": str(ExaminationOutcome.WRONG if wrong else ExaminationOutcome.OK),
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
