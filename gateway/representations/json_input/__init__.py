"""JSON that is sent: parsed within limits, in windows, or one object after another."""

from gateway.representations.json_input.plain import (
    check_json,
    check_text,
    is_plain_text,
    parse_json,
)
from gateway.representations.json_input.streamed import StreamedObject, stream_objects
