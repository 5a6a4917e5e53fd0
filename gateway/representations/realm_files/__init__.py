"""JSON of partial imports."""

from gateway.representations.realm_files.partial_import import (
    Action,
    IfExists,
    Kind,
    Outcome,
    read_policy,
    write_outcomes,
)
