"""Forms are read strictly and within stated limits. RFC 6749 §3.2; attacks C19, E11."""

from http import HTTPStatus
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message, Receive

from gateway.http.forms import (
    MAX_BODY,
    MAX_FIELDS,
    MAX_VALUE,
    FormRefused,
    is_form,
    parse_form,
    query_names,
    read_body,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)


@given(st.lists(st.tuples(TEXT, TEXT), max_size=20))
def test_what_a_client_encodes_comes_back_in_order(pairs: list[tuple[str, str]]) -> None:
    assert parse_form(urlencode(pairs).encode()) == pairs


@given(st.text("ab=&;+2", max_size=30))
def test_a_form_without_escapes_is_read_as_the_library_reads_it(text: str) -> None:
    assert parse_form(text.encode()) == parse_qsl(text, keep_blank_values=True)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused_never_more(body: bytes) -> None:
    try:
        pairs = parse_form(body)
    except FormRefused as refusal:
        assert refusal.status in {HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE}
    else:
        assert all("\0" not in name + value for name, value in pairs)


@pytest.mark.parametrize(
    "body",
    [b"a=%", b"a=%z1", b"a=%1", b"%zz=1", b"a=%ff", b"a=%c3%28", b"a=\xff", b"a=%00", b"%00=a"],
)
def test_malformed_encoding_is_refused(body: bytes) -> None:
    with pytest.raises(FormRefused) as refused:
        parse_form(body)
    assert refused.value.status == HTTPStatus.BAD_REQUEST


def test_a_field_may_be_16_kib_long_and_not_longer() -> None:
    assert parse_form(b"a=" + b"x" * MAX_VALUE) == [("a", "x" * MAX_VALUE)]
    with pytest.raises(FormRefused) as refused:
        parse_form(b"a=" + b"x" * (MAX_VALUE + 1))
    assert refused.value.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE


def test_a_form_may_have_100_fields_and_not_more() -> None:
    fields = [(f"f{number}", "1") for number in range(MAX_FIELDS)]
    assert parse_form(urlencode(fields).encode()) == fields
    with pytest.raises(FormRefused, match="Too many"):
        parse_form(urlencode([*fields, ("one", "more")]).encode())


@pytest.mark.parametrize(
    "content_type",
    [
        b"application/x-www-form-urlencoded",
        b"application/x-www-form-urlencoded;charset=UTF-8",
        b'Application/X-WWW-Form-URLEncoded; charset="utf-8"',
    ],
)
def test_what_real_clients_name_the_form_is_accepted(content_type: bytes) -> None:
    assert is_form(content_type)


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        b"",
        b"application/json",
        b"multipart/form-data; boundary=x",
        b"text/plain",
        b"application/x-www-form-urlencoded2",
    ],
)
def test_any_other_content_type_is_no_form(content_type: bytes | None) -> None:
    assert not is_form(content_type)


def test_a_form_in_another_encoding_is_415() -> None:
    with pytest.raises(FormRefused) as refused:
        is_form(b"application/x-www-form-urlencoded;charset=utf-16")
    assert refused.value.status == HTTPStatus.UNSUPPORTED_MEDIA_TYPE


def _receive(*messages: Message) -> Receive:
    waiting = list(messages)

    async def receive() -> Message:
        return waiting.pop(0)

    return receive


def _chunk(body: bytes, *, more: bool = False) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


async def test_a_body_in_pieces_is_put_together() -> None:
    receive = _receive(_chunk(b"a=", more=True), _chunk(b"1", more=True), _chunk(b""))
    assert await read_body(receive, None) == b"a=1"


async def test_a_body_that_announces_too_much_is_refused_unread() -> None:
    with pytest.raises(FormRefused) as refused:
        await read_body(_receive(), str(MAX_BODY + 1).encode())
    assert refused.value.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE


async def test_a_body_that_grows_past_the_limit_is_refused_there() -> None:
    receive = _receive(_chunk(b"x" * MAX_BODY, more=True), _chunk(b"x", more=True))
    with pytest.raises(FormRefused) as refused:
        await read_body(receive, None)
    assert refused.value.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE


async def test_a_body_that_ends_early_is_refused() -> None:
    receive = _receive(_chunk(b"a=", more=True), {"type": "http.disconnect"})
    with pytest.raises(FormRefused, match="ended early"):
        await read_body(receive, None)


@given(st.binary(max_size=300))
def test_the_names_of_any_query_are_read_or_refused(query: bytes) -> None:
    try:
        names = query_names(query)
    except FormRefused as refusal:
        assert refusal.status == HTTPStatus.BAD_REQUEST
    else:
        assert len(names) <= MAX_FIELDS


def test_the_names_in_a_query_are_decoded() -> None:
    assert query_names(b"client%5Fid=1&a=&b") == ["client_id", "a", "b"]
