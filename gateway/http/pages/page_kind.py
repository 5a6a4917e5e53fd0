"""How a kind of page is rendered: its template, its title, and what it loads and sends."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gateway.domain.texts import Texts

Title = Callable[[Any, Texts], str]
"""Returns the title of a view."""


@dataclass(frozen=True, slots=True)
class PageKind:
    """How a kind of page is rendered. `name` is that of the template.

    `data-page-id` is the name after `id_prefix`.
    """

    name: str
    title: Title
    signs_in: bool = False
    """The title of the window says where the user signs in."""
    sends_form: bool = False
    runs_script: bool = False
    id_prefix: str = "login-"
    style_sheets: tuple[str, ...] = ()
    """Built-in style sheets in addition to the one of every page."""


def fixed_title(key: str) -> Title:
    """Return the title that is the text of a key."""
    return lambda _view, texts: texts(key)
