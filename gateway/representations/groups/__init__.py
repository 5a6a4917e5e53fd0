"""JSON of groups."""

from gateway.representations.groups.group import (
    GivenGroup,
    GroupDetails,
    group_answer,
    read_group,
    read_group_paths,
    read_groups,
    write_groups,
)
