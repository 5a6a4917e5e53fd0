"""JSON of groups."""

from gateway.representations.groups.answers import GroupDetails, ToldGroup, group_answer, read_group
from gateway.representations.groups.group import (
    GivenGroup,
    read_group_paths,
    read_groups,
    write_groups,
)
