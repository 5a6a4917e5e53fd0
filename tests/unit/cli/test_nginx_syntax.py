"""The parser of nginx's configuration language reads what nginx reads, with lines."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.doctor.findings import FilePlace
from gateway.doctor.nginx_scopes import NginxConfiguration
from gateway.doctor.nginx_syntax import (
    MOST_NESTED,
    Directive,
    SyntaxProblem,
    parse_configuration,
    read_configuration,
    read_dump,
)

Tree = list[Any]
"""Name and arguments of each directive, with its block or None."""
WORDS = st.text(max_size=12)
NAMES = st.from_regex(r"[a-z_]{1,12}", fullmatch=True).filter(
    lambda name: name != "include" and not name.endswith("_by_lua_block")
)
GAPS = st.sampled_from([" ", "\t", "\n", "\r\n", "  # a comment; { } \" '\n"])
DIRECTIVES = st.tuples(NAMES, st.lists(WORDS, max_size=3))
TREES = st.recursive(
    st.lists(st.tuples(DIRECTIVES, st.none()), max_size=3),
    lambda inner: st.lists(st.tuples(DIRECTIVES, st.none() | inner), max_size=3),
    max_leaves=12,
)


def quoted(word: str, quote: str) -> str:
    """Return the word in quotes; nginx keeps a backslash before other characters."""
    escaped = word.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    return f"{quote}{escaped}{quote}"


def written(tree: Tree, draw: st.DataObject) -> str:
    """Return the tree as text, with gaps and quotes as drawn."""
    parts = []
    for (name, arguments), block in tree:
        parts.append(name)
        for argument in arguments:
            parts.append(draw.draw(GAPS))
            parts.append(quoted(argument, draw.draw(st.sampled_from("\"'"))))
        parts.append(draw.draw(st.sampled_from(["", " ", "\n"])))
        parts.append(";" if block is None else "{" + written(block, draw) + "}")
        parts.append(draw.draw(GAPS))
    return "".join(parts)


def shape(directives: tuple[Directive, ...]) -> Tree:
    """Return the tree without lines."""
    return [
        ((each.name, list(each.arguments)), None if each.block is None else shape(each.block))
        for each in directives
    ]


@given(TREES, st.data())
def test_what_is_written_is_read_again(tree: Tree, data: st.DataObject) -> None:
    assert shape(parse_configuration(written(tree, data), "a")) == tree


@given(st.text(st.sampled_from("ab \n;{}\"'\\$#)")))
def test_any_text_is_parsed_or_refused_with_a_line_of_it(text: str) -> None:
    try:
        parse_configuration(text, "a")
    except SyntaxProblem as problem:
        assert 1 <= problem.place.line <= text.count("\n") + 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b;", ["a", "b"]),
        ("a b}c;", ["a", "b}c"]),
        ("a b#c;", ["a", "b#c"]),
        ("a ${b}c;", ["a", "${b}c"]),
        ("a $b{c;", None),
        (r"a \.css$;", ["a", r"\.css$"]),
        (r'a "\"b\\";', ["a", '"b\\']),
        (r"a b\;c;", ["a", r"b\;c"]),
        (r"a '\t';", ["a", "\t"]),
        ('a "b"c;', None),
        ('a "b";', ["a", "b"]),
        ("a b", None),
        ("}", None),
        (";", None),
        ("{}", None),
        ("a {", None),
        ("a 'b", None),
        ("if ($a = 'b') {}", ["if", "($a", "=", "b", ")"]),
        (
            "content_by_lua_block { if a { '}' -- }\n } }",
            ["content_by_lua_block", " if a { '}' -- }\n } "],
        ),
    ],
)
def test_words_end_where_nginx_ends_them(text: str, words: list[str] | None) -> None:
    if words is None:
        with pytest.raises(SyntaxProblem):
            parse_configuration(text, "a")
        return
    (directive,) = parse_configuration(text, "a")
    assert [directive.name, *directive.arguments] == words


def test_lines_are_those_of_the_first_word() -> None:
    (http,) = parse_configuration("\n# a\nhttp\n{\n  server # b\n {\n listen\n 80; } }", "a")
    assert http.place == FilePlace("a", 3)
    (server,) = http.block or ()
    assert (server.place.line, (server.block or ())[0].place.line) == (5, 7)


def test_blocks_are_nested_to_a_limit() -> None:
    parse_configuration("a {" * MOST_NESTED + "}" * MOST_NESTED, "a")
    with pytest.raises(SyntaxProblem, match="nested"):
        parse_configuration("a {" * (MOST_NESTED + 1) + "}" * (MOST_NESTED + 1), "a")


def test_includes_resolve_against_the_main_file_in_order(tmp_path: Path) -> None:
    (tmp_path / "sites").mkdir()
    (tmp_path / "nginx.conf").write_text("http { include sites/*.conf; include none*; }")
    (tmp_path / "sites/b.conf").write_text("server { server_name b; }")
    (tmp_path / "sites/a.conf").write_text("server { include sites/name; }")
    (tmp_path / "sites/name").write_text("\nserver_name a;")
    servers = NginxConfiguration(read_configuration(tmp_path / "nginx.conf")).servers
    assert [sorted(server.server_names) for server in servers] == [["a"], ["b"]]
    (name,) = servers[0].scope.own("server_name")
    assert name.place == FilePlace(str(tmp_path / "sites/name"), 2)


def test_files_that_include_each_other_end(tmp_path: Path) -> None:
    (tmp_path / "nginx.conf").write_text("include nginx.conf;")
    with pytest.raises(SyntaxProblem, match="include each other"):
        read_configuration(tmp_path / "nginx.conf")


def test_the_output_of_nginx_is_split_into_its_files() -> None:
    dump = (
        "nginx: configuration file /etc/nginx/nginx.conf test is successful\n"
        "# configuration file /etc/nginx/nginx.conf:\nhttp {\n include conf.d/*.conf;\n}\n\n"
        "# configuration file /etc/nginx/conf.d/a.conf:\nserver {\n listen 80;\n}\n"
    )
    (http,) = read_dump(dump)
    (server,) = http.block or ()
    assert server.place == FilePlace("/etc/nginx/conf.d/a.conf", 1)
    with pytest.raises(SyntaxProblem, match="no output"):
        read_dump("http {}")


@pytest.mark.parametrize(
    ("own", "value"),
    [("", "outer"), ("proxy_set_header B own;", None), ("proxy_set_header A own;", "own")],
)
def test_one_header_of_a_block_replaces_all_those_around_it(own: str, value: str | None) -> None:
    text = f"http {{ proxy_set_header A outer; server {{ location / {{ {own} }} }} }}"
    (location,) = NginxConfiguration(parse_configuration(text, "a")).locations
    header = location.scope.headers().get("a")
    assert (header and header.arguments[1]) == value
