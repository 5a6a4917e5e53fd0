"""The fields of the user profile as pages show them. Keycloak: 16.1."""

from collections.abc import Mapping
from typing import Final

from gateway.domain.authentication import ProfileField
from gateway.domain.texts import Text
from gateway.domain.user_profile import Violation
from gateway.domain.user_profile.display import InputType
from gateway.http.pages.action_views import ProfileInput, ProfileInputKind

_INPUT_KINDS: Final[Mapping[InputType, ProfileInputKind]] = {
    InputType.TEXTAREA: ProfileInputKind.TEXTAREA,
    InputType.SELECT: ProfileInputKind.SELECT,
    InputType.EMAIL: ProfileInputKind.EMAIL,
    InputType.TELEPHONE: ProfileInputKind.TELEPHONE,
    InputType.URL: ProfileInputKind.URL,
}


def profile_input(shown: ProfileField) -> ProfileInput:
    """Return the field; names and texts of the profile may be `${key}`."""
    display = shown.display
    return ProfileInput(
        name=shown.name,
        label=display.label or shown.name,
        kind=_input_kind(shown),
        value="\n".join(shown.values),
        has_lines=shown.multivalued,
        options=tuple((option.value, option.label) for option in display.options),
        hint=display.hint,
        required=shown.required,
        read_only=shown.read_only,
        errors=tuple(map(_violation_text, shown.violations)),
    )


def _input_kind(shown: ProfileField) -> ProfileInputKind:
    """Return the element: what is read only is not chosen, and several values need lines."""
    if shown.multivalued:
        return ProfileInputKind.TEXTAREA
    kind = _INPUT_KINDS.get(shown.display.input_type, ProfileInputKind.TEXT)
    is_choice = kind is ProfileInputKind.SELECT
    return ProfileInputKind.TEXT if is_choice and shown.read_only else kind


def _violation_text(violation: Violation) -> Text:
    """Return the text without its first argument, the attribute, which the page names."""
    return Text(violation.message, tuple(map(_argument, violation.parameters[1:])))


def _argument(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    return "" if value is None else str(value)
