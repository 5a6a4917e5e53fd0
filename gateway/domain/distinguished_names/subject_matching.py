"""Whether a certificate's subject is the one a client is registered with.

Spec: RFC 8705 §2.1.2, §7.4. Keycloak: `x509.subjectdn`, `x509.allow.regex.pattern.comparison`.
"""

import unicodedata

from gateway.domain.distinguished_names.name import DistinguishedName
from gateway.domain.distinguished_names.parsing import parse_distinguished_name
from gateway.domain.limits.patterns import Verdict, matches_at_once

INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def subject_matches(subject: DistinguishedName, expected: str, *, regex: bool) -> bool:
    """Tell whether `subject` is the registered one; a faulty `expected` matches nothing.

    `regex` matches a bounded pattern against the whole legacy form, else both are compared as
    parsed names. An ambiguous subject never matches, and so nothing matches a blank `expected`:
    only the empty name would.
    """
    if is_ambiguous(subject):
        return False
    return _matches_pattern(subject, expected) if regex else _equals(subject, expected)


def is_ambiguous(subject: DistinguishedName) -> bool:
    """Tell whether people or programs could read the subject in more than one way.

    So it is for one without attributes, with several CNs, with an invisible character, or with a
    value that is not text.
    """
    return (
        not subject.relative_names
        or len(subject.common_names) > 1
        or any(_has_invisible(item.value) for item in subject.attributes)
    )


def _has_invisible(value: str | bytes) -> bool:
    return isinstance(value, bytes) or any(
        unicodedata.category(character) in INVISIBLE for character in value
    )


def _equals(subject: DistinguishedName, expected: str) -> bool:
    try:
        return subject == parse_distinguished_name(expected)
    except ValueError:
        return False


def _matches_pattern(subject: DistinguishedName, pattern: str) -> bool:
    verdict = matches_at_once().verdict(pattern, subject.legacy_rendering())
    return verdict is Verdict.MATCHES
