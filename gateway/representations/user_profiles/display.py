"""How an attribute of a profile is displayed: its display name, annotations and options.

A document may have any annotations, so whatever is of no use is passed over.
Keycloak: 16.1, UPConfig
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from gateway.domain.user_profile.display import AttributeDisplay, InputType, Option
from gateway.domain.user_profile.profile import ROOTS

_OPTIONS: Final = "options"
_HINTS: Final = ("inputHelperTextBefore", "inputHelperTextAfter")


def display_of(attribute: Mapping[str, Any]) -> AttributeDisplay:
    """Return what a form displays for an attribute of a document that was kept."""
    name, annotations = attribute["name"], attribute.get("annotations") or {}
    options = tuple(_options(attribute.get("validations", {}), annotations))
    hints = (_text(annotations, key) for key in _HINTS)
    return AttributeDisplay(
        label=attribute.get("displayName") or (f"${{{name}}}" if name in ROOTS else name),
        input_type=InputType.SELECT if options else _input_type(annotations),
        options=options,
        hint=" ".join(hint for hint in hints if hint),
    )


def _input_type(annotations: Mapping[str, Any]) -> InputType:
    given = _text(annotations, "inputType")
    known = given in set(InputType) and given != InputType.SELECT
    return InputType(given) if known else InputType.TEXT


def _options(validations: Mapping[str, Any], annotations: Mapping[str, Any]) -> Iterator[Option]:
    source = _text(annotations, "inputOptionsFromValidation") or _OPTIONS
    given = (validations.get(source) or {}).get(_OPTIONS)
    labels, prefix = (
        annotations.get("inputOptionLabels"),
        _text(annotations, "inputOptionLabelsI18nPrefix"),
    )
    for value in given if isinstance(given, list) else ():
        if isinstance(value, str):
            label = _text(labels, value) if isinstance(labels, Mapping) else ""
            yield Option(value, label or (f"${{{prefix}.{value}}}" if prefix else value))


def _text(annotations: Mapping[str, Any], name: str) -> str:
    value = annotations.get(name)
    return value if isinstance(value, str) else ""
