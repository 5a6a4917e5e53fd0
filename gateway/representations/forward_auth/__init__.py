"""JSON and TOML of protected sites and their rules."""

from gateway.representations.forward_auth.fields import BearerAudienceOrNone, Members
from gateway.representations.forward_auth.rules import RULE_FIELDS, RuleList
from gateway.representations.forward_auth.rules_file import (
    LARGEST_FILE,
    parse_rules_file,
    parse_toml,
)
from gateway.representations.forward_auth.sites import (
    MOST_SITES,
    SITE_FIELDS,
    parse_realm_sites,
    parse_site,
    render_file_site,
    render_site,
    render_stored_site,
    with_bearer_audience,
)
