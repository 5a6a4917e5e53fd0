"""JSON of realms and their settings."""

from typing import TYPE_CHECKING

from gateway.domain.exports import load_exports

if TYPE_CHECKING:
    from gateway.representations.realms.client_policies import (
        policies_of,
        render_policies,
        render_profiles,
        with_policies,
        with_profiles,
    )
    from gateway.representations.realms.fields import IMPORTED, NOT_IMPORTED, STORED_SWITCHES
    from gateway.representations.realms.realm import (
        REALM_TABLE,
        brief_realm,
        create_realm,
        default_role,
        full_realm,
        ineffective_realm_settings,
        merge_realm,
        named_realm,
        parse_realm,
        parts_not_imported,
        reduced_realm,
        render_realm,
        require_known_realm_fields,
        require_known_resources,
        resources_not_imported,
        update_realm,
    )
    from gateway.representations.realms.sign_in import (
        MOST_LOCALES,
        MOST_TEXTS,
        FlowInput,
        SignInInput,
        StepInput,
        is_locale,
        parse_sign_in,
        parse_text,
        parse_texts,
        render_sign_in,
    )
    from gateway.representations.realms.special_fields import RULES, SECRETS, SmtpMap, keep_secrets
else:
    __getattr__ = load_exports(__name__, __file__)
