"""JSON and TOML of protected sites and their rules."""

from gateway.representations.forward_auth.rules_file import LARGEST_FILE, parse_rules_file
from gateway.representations.forward_auth.sites import (
    MOST_SITES,
    parse_realm_sites,
    parse_site,
    render_site,
)
