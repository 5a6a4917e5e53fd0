"""A group of use cases of which each is made with its first use.

A worker makes all of them with the table of operations; a command needs one or two, and the modules
of the others would take most of its time.
"""

from collections.abc import Callable


class OnDemand:
    """Makes an attribute by its function, once."""

    def __init__(self, **makers: Callable[[], object]) -> None:
        self._makers = makers

    def __getattr__(self, name: str) -> object:
        make = self._makers.get(name)
        if make is None:
            raise AttributeError(name)
        made = make()
        setattr(self, name, made)
        return made
