"""The terms under which the databases index users, so that any part of a name is found quickly.

A term is three characters that follow each other in a user name, an address or a name; the last
one and two are terms as well, so a shorter text is the beginning of a term. A mark
before each text makes its beginning a term of its own. Triggers (SQLite) and the expression of an
index (PostgreSQL) make the same terms, see revision 0003. A user may have all terms of a search
and not match it: what is found by them is compared again.
Source: https://www.sqlite.org/fts5.html, https://www.postgresql.org/docs/15/textsearch.html
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_LENGTH: Final = 3
_MOST: Final = 12
"""More terms of a long text would hardly exclude more users."""
_START: Final = "\x02"
_ENABLED: Final = "\x03"
_EMAIL_VERIFIED: Final = "\x04"
_OF_REALM: Final = "\x01"


@dataclass(frozen=True, slots=True)
class Term:
    """A term, or where it is not `whole` the beginning of one."""

    text: str
    whole: bool = True


def terms_within(text: str) -> Iterator[Term]:
    """Return the terms that every text has of which `text` is a part."""
    if len(text) < _LENGTH:
        yield Term(text, whole=False)
    for start in range(len(text) - _LENGTH + 1):
        yield Term(text[start : start + _LENGTH])


def terms_at_start(text: str) -> Iterator[Term]:
    """Return the terms that every text has that begins with `text`."""
    return terms_within(_START + text)


def flag_terms(*, enabled: bool | None, email_verified: bool | None) -> Iterator[Term]:
    """Return the terms of the flags; few users may be disabled, or all of them."""
    for mark, flag in ((_ENABLED, enabled), (_EMAIL_VERIFIED, email_verified)):
        if flag is not None:
            yield Term(f"{mark}{int(flag)}")


def best_terms(terms: Iterable[Term]) -> Sequence[Term]:
    """Return those that leave the fewest users for the least work."""
    all_of_them = tuple(dict.fromkeys(terms))
    whole = tuple(term for term in all_of_them if term.whole) or all_of_them
    step = -(-len(whole) // _MOST) or 1
    return whole[::step]


def fts5_query(realm_id: str, terms: Sequence[Term]) -> str:
    """Return the MATCH expression of SQLite.

    Terms are hexadecimal, for its tokenizers divide texts; two realms may have one mark.
    """
    mark = f"{_hexadecimal(realm_id[:4] + realm_id[-4:])}r"
    return " AND ".join(
        f'"{mark}{_hexadecimal(term.text)}"{"" if term.whole else " *"}' for term in terms
    )


def tsquery(realm_id: str, terms: Sequence[Term]) -> str:
    """Return the tsquery of PostgreSQL."""
    return " & ".join(
        f"{_quoted(realm_id + _OF_REALM + term.text)}{'' if term.whole else ':*'}" for term in terms
    )


def _hexadecimal(text: str) -> str:
    return text.encode().hex()


def _quoted(text: str) -> str:
    doubled = text.replace("\\", "\\\\").replace("'", "''")
    return f"'{doubled}'"
