"""Null, empty texts, zero, empty lists and objects mean what they mean to Keycloak, in every field.

`empty_values.jsonl` has what Keycloak 26.7.3 answered: scripts/probe_empty_values.py.
"""

import json
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from pathlib import Path

import httpx2
import pytest

from tests.support.administration import ELLIPTIC, Administration
from tests.support.empty_value_deviations import DEVIATIONS, Deviation
from tests.support.empty_value_subjects import SUBJECTS, Subject, World
from tests.support.empty_values import VALUES, Answer, Probe, operations, read_rows

_DATA = Path(__file__).with_name("empty_values.jsonl")
ROWS = {row.key: row for row in read_rows(_DATA.read_text(encoding="utf-8").splitlines())}


@pytest.fixture(scope="module")
def world(administration: Administration) -> Iterator[World]:
    """Make a realm."""

    def ask(method: str, path: str, document: object) -> httpx2.Response:
        return administration.ask(method, path, document=document)

    cheap = "hashAlgorithm(pbkdf2-sha256) and hashIterations(1)"
    yield World.prepared(ask, "empty-values", **ELLIPTIC, passwordPolicy=cheap)
    administration.ask("DELETE", "empty-values")


def test_keycloaks_answers_are_known_for_every_field() -> None:
    fields = {
        (subject.name, operation, name)
        for subject in SUBJECTS
        for operation in operations(subject)
        for name in subject.fields
    }
    assert fields == ROWS.keys()


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_an_empty_value_is_answered_as_by_keycloak(world: World, subject: Subject) -> None:
    deviations = [each for each in DEVIATIONS if each.subject == subject.name]
    used: set[Deviation] = set()
    wrong: list[str] = []
    for operation in operations(subject):
        probe = Probe(subject, world)
        for place, value in enumerate(VALUES):
            wanted = {
                name: ROWS[subject.name, operation, name].answers[place] for name in subject.fields
            }
            for name, answer in _differences(probe, operation, value, wanted).items():
                explained = (each for each in deviations if each.explains(operation, name, value))
                found = {each for each in explained if each.permits(answer)}
                used |= found
                if not found:
                    sent = f"{operation} {name}={json.dumps(value)}"
                    wrong.append(f"{sent}: {answer}, Keycloak {wanted[name]}")
    assert not wrong, "\n".join(wrong)
    assert not [each for each in deviations if each not in used]


def _differences(
    probe: Probe, operation: str, value: object, wanted: dict[str, Answer]
) -> dict[str, Answer]:
    """Return the answers that differ, by field.

    What is accepted is sent at once first; what differs then, and all that is refused, alone.
    """
    accepted = [name for name, answer in wanted.items() if answer[0] < HTTPStatus.BAD_REQUEST]
    found: dict[str, Answer] = {}
    for names in ([n for n in accepted if "." not in n], [n for n in accepted if "." in n]):
        found |= _compared(probe, operation, value, names, wanted)
    for name in wanted.keys() - set(accepted):
        found |= _compared(probe, operation, value, [name], wanted)
    return found


def _compared(
    probe: Probe, operation: str, value: object, names: Sequence[str], wanted: dict[str, Answer]
) -> dict[str, Answer]:
    if not names:
        return {}
    answers = probe.ask(operation, names, value)
    wrong = {name: answer for name, answer in answers.items() if not _same(answer, wanted[name])}
    if len(names) == 1:
        return wrong
    found: dict[str, Answer] = {}
    middle = len(names) // 2
    refused = len(wrong) == len(names)
    parts = [names[:middle], names[middle:]] if refused else [[name] for name in wrong]
    for part in parts:
        found |= _compared(probe, operation, value, part, wanted)
    return found


def _same(answer: Answer, wanted: Answer) -> bool:
    """Tell whether the answers are the same; where Keycloak fails, the gateway must not."""
    if wanted[0] >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return int(answer[0]) < HTTPStatus.INTERNAL_SERVER_ERROR
    return answer == wanted
