"""The kinds of values of `realmgate.certificate.*`: names, templates, claims and limits.

What was stored and cannot be parsed is no name: no certificate is the client's then.
"""

import json
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from gateway.domain.certificate_names import (
    CLAIM_NAME,
    WILDCARD,
    CertificateName,
    CertificateTemplate,
)
from gateway.domain.clients import LONGEST_DEVICE_LOCK, DeviceSettings
from gateway.domain.realm import OVERLAP_FORM, is_overlap, parse_overlap
from gateway.representations.clients.attribute_values import AttributeValue

_COUNT: Final = re.compile("[1-9][0-9]{0,5}")
_LOCK: Final = re.compile("[1-9][0-9]{0,8}")
_MOST_SECONDS: Final = int(LONGEST_DEVICE_LOCK.total_seconds())


def name_of(kind: str) -> AttributeValue:
    """Return the kind of values that are a name of a certificate; a malformed one is none."""

    def parse(text: str) -> CertificateName | None:
        try:
            return CertificateName.of_kind(kind, text.strip())
        except ValueError:
            return None

    def problem(text: str) -> str | None:
        try:
            CertificateName.of_kind(kind, text.strip())
        except ValueError as error:
            return str(error)
        if kind == "dns" and text.strip().startswith(WILDCARD):
            return "a DNS name without a wildcard"
        return None if text.isprintable() else "text without control characters"

    return AttributeValue(parse, problem)


def read_template(text: str) -> CertificateTemplate | None:
    """Return the template; None for what is none."""
    try:
        return CertificateTemplate.parse(text.strip())
    except ValueError:
        return None


def _template_problem(text: str) -> str | None:
    try:
        CertificateTemplate.parse(text.strip())
    except ValueError as error:
        return str(error)
    return None


def read_claims(text: str) -> Mapping[str, str]:
    """Return claims by placeholder; none of what is no JSON object."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return {name: str(claim) for name, claim in found.items()} if isinstance(found, dict) else {}


def _claims_problem(text: str) -> str | None:
    allowed = 'a JSON object of claims by placeholder, such as {"device": "device_id"}'
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return allowed
    fine = isinstance(found, dict) and all(
        isinstance(claim, str) and CLAIM_NAME.fullmatch(claim) for claim in found.values()
    )
    return None if fine else allowed


def _count(text: str) -> int:
    return int(text) if _COUNT.fullmatch(text) else 0


def _count_problem(text: str) -> str | None:
    return None if _COUNT.fullmatch(text) else "a whole number from 1 to 999999"


def _lock_duration(text: str) -> timedelta:
    seconds = _LOCK.fullmatch(text) and int(text)
    return timedelta(seconds=min(seconds or 0, _MOST_SECONDS)) or DeviceSettings().lock_duration


def _lock_problem(text: str) -> str | None:
    fine = _LOCK.fullmatch(text) and int(text) <= _MOST_SECONDS
    return None if fine else f"whole seconds from 1 to {_MOST_SECONDS}"


def _overlap(text: str) -> timedelta | None:
    return parse_overlap(text) if text else None


def _overlap_problem(text: str) -> str | None:
    return None if is_overlap(text) else OVERLAP_FORM


CERTIFICATE_TEMPLATE: Final = AttributeValue(read_template, _template_problem)
TEMPLATE_CLAIM_NAMES: Final = AttributeValue(read_claims, _claims_problem)
COUNT: Final = AttributeValue(_count, _count_problem)
LOCK_DURATION: Final = AttributeValue(_lock_duration, _lock_problem)
OVERLAP: Final = AttributeValue(_overlap, _overlap_problem)
