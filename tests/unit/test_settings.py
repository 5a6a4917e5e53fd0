"""Settings: where they come from, which wins, and how mistakes are told."""

import base64
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.domain.secrets import Secret
from gateway.http.certificate_lookup import LOOKUPS
from gateway.http.certificate_options import FLAGS
from gateway.settings import (
    SCRIPT_NAMES,
    SETTING_NAMES,
    Settings,
    SettingsError,
    TcpAddress,
    UnixAddress,
    file_variable,
    load_settings,
    variable,
    written,
)

SAMPLE = Path(__file__).parents[2] / ".env.example"


def load(
    environment: dict[str, str] | None = None,
    options: dict[str, object] | None = None,
    env_file: Path = Path("/nonexistent"),
) -> Settings:
    return load_settings(options, environment=environment or {}, env_file=env_file)


def refusal(environment: dict[str, str], options: dict[str, object] | None = None) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load(environment, options)
    return list(caught.value.lines)


def test_flags_precede_environment_then_dotenv_then_defaults(
    tmp_path: Path,
) -> None:
    env_file = tmp_path / ".env"
    env_file.write_text("REALMGATE_WORKERS=2\nREALMGATE_SHUTDOWN_GRACE=2m\nREALMGATE_ADMIN=dot\n")
    settings = load(
        {"REALMGATE_WORKERS": "3", "REALMGATE_ADMIN": "environment"}, {"workers": 4}, env_file
    )
    assert (settings.workers, settings.admin) == (4, "environment")
    assert settings.shutdown_grace == timedelta(minutes=2)
    assert settings.management_port == 9000


def test_every_mistake_is_reported_at_once_under_its_own_name() -> None:
    lines = refusal(
        {
            "REALMGATE_WORKERS": "many",
            "REALMGATE_PUBLIC_URL": "localhost",
            "REALMGATE_ADMIN_PASSWORD_FILE": "/nonexistent",
            "REALMGATE_TRUSTED_PROXIES": "10.0.0.0/8, nobody",
            "REALMGATE_SHUTDOWN_GRACE": "soon",
        },
        {"listen": "nowhere"},
    )
    assert sorted(line.split(":")[0] for line in lines) == [
        "--listen",
        "REALMGATE_ADMIN_PASSWORD_FILE",
        "REALMGATE_PUBLIC_URL",
        "REALMGATE_SHUTDOWN_GRACE",
        "REALMGATE_TRUSTED_PROXIES",
        "REALMGATE_WORKERS",
    ]
    assert all(" given, " in line and line.endswith(" expected") for line in lines)


def test_one_report_has_wrong_stores_keys_and_missing_companions(tmp_path: Path) -> None:
    authorities = tmp_path / "ca.crt"
    authorities.touch()
    lines = refusal(
        {
            "REALMGATE_DATABASE_URL": "mysql://canary",
            "REALMGATE_REDIS_URL": "http://canary",
            "REALMGATE_ENCRYPTION_KEY": "canary",
            "REALMGATE_WORKERS": "0",
            "REALMGATE_CLIENT_CA_FILE": str(authorities),
            "REALMGATE_TRUSTED_PROXIES": "::1",
            "REALMGATE_LISTEN": "127.0.0.1:8000",
        }
    )
    assert sorted(line.split(":")[0] for line in lines) == [
        "REALMGATE_CLIENT_CRL_FILE",
        "REALMGATE_DATABASE_URL",
        "REALMGATE_ENCRYPTION_KEY",
        "REALMGATE_PROXY_SECRET",
        "REALMGATE_REDIS_URL",
        "REALMGATE_WORKERS",
    ]
    assert "canary" not in "\n".join(lines)


def test_a_wrong_setting_is_reported_once_without_its_companion() -> None:
    """A proxy secret that is too short is not missing as well."""
    (line,) = refusal(
        {
            "REALMGATE_PROXY_SECRET": "short",
            "REALMGATE_TRUSTED_PROXIES": "::1",
            "REALMGATE_LISTEN": "127.0.0.1:8000",
        }
    )
    assert line == ("REALMGATE_PROXY_SECRET: a hidden value given, at least 16 characters expected")


WRONG = {
    "WORKERS": ["", "0", "65", "1.5", "-1", "one", "\uff11", "1e3", "true", "9" * 5000],
    "LOG_LEVEL": ["loud", "INFO", "0"],
    "TRACING": ["perhaps", "2", "tru"],
    "MANAGEMENT_PORT": ["0", "65536", "http", "-9000", "80 80"],
    "SHUTDOWN_GRACE": ["0", "-1s", "1y", "s", "1_0s", "1e9s", "٣s", "nan", "inf", "366d", "1 0"],
    "CACHE_AGE": ["0s", "soon"],
    "CACHE_REALMS": ["0", "many"],
    "CACHE_CLIENTS": ["-5", "1.0"],
    "LISTEN": ["8000", ":80", "host:", "host:0", "host:99999", "host:٣", "unix:/" + "x" * 200],
    "TRUSTED_PROXIES": ["localhost", "10.0.0.1/8", "10.0.0.0/33", "::1,nobody"],
    "CERTIFICATE_LOOKUP": ["aparche"],
    "CERTIFICATE_HEADER": ["a b", "ü", "a:b", "-", "x_y"],
    "CLIENT_CA_FILE": ["/nonexistent", "/", "a\0b"],
    "CLIENT_CRL_FILE": ["/nonexistent"],
    "CLIENT_CRL_URLS": ["ldap://ca.example/cn=list", "ca.crl", "http://a.example/ b"],
    "FETCH_CA_FILE": ["/nonexistent"],
    "FETCH_NETWORKS": ["localhost", "10.0.0.1/8"],
    "FETCH_HTTP": ["perhaps"],
    "MAIL_CA_FILE": ["/nonexistent"],
    "MAIL_NETWORKS": ["localhost", "10.0.0.1/8"],
    "IMPORT_REALM": ["/nonexistent", "/,/", "a\0b"],
    "PUBLIC_URL": ["localhost", "https://x y", "https://x:0", "https://x:99999", "https://x?y"],
    "MTLS_PUBLIC_URL": ["//x", "https://u:canary@x"],
    "DATABASE_URL": [
        *("postgresql://u:canary@host:port/x", "postgresql://u:canary@host:99999", "mysql://x"),
        "sqlite://",
        "sqlite:///",
        "canary",
        "sqlite:///a?b=c",
    ],
    "REDIS_URL": ["http://x", "canary", "redis://x:port", "redis://x/?nonsense=1"],
    "ENCRYPTION_KEY": ["canary", "YQ==", "-"],
    "PROXY_SECRET": ["canary"],
}
_FOREIGN = ("Input should", "Value error", "validation", "type=", "pydantic", "Traceback")


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in WRONG.items() for text in texts if text]
)
def test_refusals_name_setting_value_and_expectation(name: str, text: str) -> None:
    (line,) = [
        line
        for line in refusal({f"REALMGATE_{name}": text})
        if line.startswith(f"REALMGATE_{name}: ")
    ]
    assert " given, " in line
    assert line.endswith(" expected")
    assert len(line) < 300
    assert line.isprintable()
    assert not [word for word in (*_FOREIGN, "canary") if word in line]


def test_what_is_shown_can_be_put_back() -> None:
    """`settings show` prints durations, lists and switches as `.env` takes them."""
    given = {
        "REALMGATE_SHUTDOWN_GRACE": "1.5h",
        "REALMGATE_CACHE_AGE": "250ms",
        "REALMGATE_TRACING": "yes",
        "REALMGATE_TRUSTED_PROXIES": "::1 10.0.0.0/8",
        "REALMGATE_LISTEN": "unix:/x/y z.sock",
        "REALMGATE_IMPORT_REALM": str(SAMPLE),
    }
    settings = load(given)
    shown = {variable(field): written(getattr(settings, field)) for field in SETTING_NAMES}
    assert load(shown) == settings
    assert shown["REALMGATE_SHUTDOWN_GRACE"] == "5400s"
    assert shown["REALMGATE_CACHE_AGE"] == "250ms"


@given(st.timedeltas(timedelta(microseconds=1), timedelta(days=365)))
def test_every_duration_that_is_shown_can_be_put_back(span: timedelta) -> None:
    assert load({"REALMGATE_CACHE_AGE": written(span)}).cache_age == span


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:////var/lib/realmgate/realmgate.db", "sqlite:////var/lib/realmgate/realmgate.db"),
        ("postgresql://gate:canary@db/name", "postgresql://gate:***@db/name"),
        ("postgresql://gate:can/ary@canary@db/name", "postgresql://gate:***@db/name"),
        (
            "postgresql://db/name?password=canary&sslmode=require",
            "postgresql://db/name?password=***&sslmode=require",
        ),
        ("redis://:canary@host:6379/0", "redis://:***@host:6379/0"),
        ("unix:///run/redis.sock", "unix:///run/redis.sock"),
        ("canary", "***"),
    ],
)
def test_of_an_address_only_the_password_is_hidden(url: str, shown: str) -> None:
    assert written(Secret(url)) == shown


def test_an_unknown_name_is_refused_with_the_nearest_known_one(tmp_path: Path) -> None:
    assert refusal({"REALMGATE_WORKER": "2"}) == [
        "REALMGATE_WORKER is not a setting; did you mean REALMGATE_WORKERS?"
    ]
    assert refusal({"REALMGATE_FOO": "2"}) == ["REALMGATE_FOO is not a setting"]
    env_file = tmp_path / ".env"
    env_file.write_text("REALMGATE_ZZZ=1\nPATH=/bin\n")
    with pytest.raises(SettingsError, match="REALMGATE_ZZZ is not a setting"):
        load(env_file=env_file)


def test_names_of_the_scripts_are_tolerated() -> None:
    assert "REALMGATE_URL" in SCRIPT_NAMES
    assert load(dict.fromkeys(SCRIPT_NAMES, "x")) == load()


def test_an_empty_value_counts_as_not_given() -> None:
    assert load({"REALMGATE_WORKERS": "", "REALMGATE_REDIS_URL": ""}) == load()


@pytest.mark.parametrize("field", [name for name in SETTING_NAMES if file_variable(name)])
def test_a_secret_may_stand_in_a_file(field: str, tmp_path: Path) -> None:
    content = {
        "database_url": "postgresql://db/name",
        "redis_url": "redis://host",
        "public_url": "https://x.test",
        "mtls_public_url": "https://x.test",
    }.get(field, "a secret of some length")
    path = tmp_path / "value"
    path.write_text(content + "\n")
    value = getattr(load({f"{variable(field)}_FILE": str(path)}), field)
    assert (value.reveal() if isinstance(value, Secret) else value) == content


def test_a_value_and_its_file_together_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "value"
    path.write_text("x")
    lines = refusal({"REALMGATE_ADMIN_PASSWORD": "a", "REALMGATE_ADMIN_PASSWORD_FILE": str(path)})
    assert len(lines) == 1
    assert "both set" in lines[0]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://",
        "postgresql:///name?host=/run/postgresql",
        "postgresql://host",
        "postgresql://user:pass:word@host:5432/name?sslmode=require",
        "postgres://[::1]:5432/name",
        "postgresql://first:5432,second:5433/name?target_session_attrs=read-write",
        "sqlite:////var/lib/realmgate/a:b.db",
    ],
)
def test_an_address_that_libpq_understands_is_taken(url: str) -> None:
    assert load({"REALMGATE_DATABASE_URL": url}).database_url == Secret(url)


def test_a_secret_never_appears_in_a_refusal_or_in_the_settings() -> None:
    canary = "canary"
    assert canary not in "\n".join(refusal({"REALMGATE_PROXY_SECRET": canary}))
    shown = repr(
        load(
            {
                "REALMGATE_ADMIN_PASSWORD": canary,
                "REALMGATE_DATABASE_URL": f"postgresql://u:{canary}@db/name",
                "REALMGATE_REDIS_URL": f"redis://:{canary}@host",
                "REALMGATE_ENCRYPTION_KEY": base64.b64encode(b"canary" * 5 + b"__").decode(),
            }
        )
    )
    assert base64.b64encode(b"canary").decode() not in shown
    assert canary not in shown


@pytest.mark.parametrize(
    "name", ["KC_SPI_X509CERT_LOOKUP_PROVIDER", "KC_SPI_X509CERT_LOOKUP__PROVIDER"]
)
def test_an_unknown_lookup_is_refused_naming_the_allowed_ones(name: str) -> None:
    providers = " or ".join(LOOKUPS)
    assert load({name: "nginx"}).certificate_lookup == "nginx"
    assert refusal({name: "aparche"}) == [f'{name}: "aparche" given, {providers} expected']


@pytest.mark.parametrize(
    "name",
    [
        "KC_SPI_X509CERT_LOOKUP_NGINX_SSL_CLIENT_CERT",
        "KC_SPI_X509CERT_LOOKUP__NGINX__SSL_CLIENT_CERT",
        "REALMGATE_CERTIFICATE_HEADER",
    ],
)
def test_the_certificate_header_is_set_by_each_of_its_names(name: str) -> None:
    assert load({name: "X-Client-Cert"}).certificate_header == "x-client-cert"


def test_a_state_folder_too_long_for_a_socket_is_reported() -> None:
    with pytest.raises(SettingsError, match="REALMGATE_LISTEN"):
        load({"REALMGATE_STATE_DIR": "/" + "a" * 120})


@pytest.mark.parametrize(
    "name", ["Authorization", "X-Forwarded-For", "ssl-client-verify", "x--y", "-x", "a-b-c-d-e-f"]
)
def test_a_header_with_another_meaning_carries_no_certificate(name: str) -> None:
    with pytest.raises(SettingsError, match="REALMGATE_CERTIFICATE_HEADER"):
        load({"REALMGATE_CERTIFICATE_HEADER": name})


def test_every_lookup_option_is_set_by_each_of_its_names() -> None:
    values: dict[str, tuple[str, object]] = {
        "certificate_header": ("X-Leaf", "x-leaf"),
        "certificate_chain_header": ("X-Chain", "x-chain"),
        "certificate_chain_prefix": ("X-Chain", "x-chain"),
        "certificate_chain_length": ("3", 3),
        "certificate_url_encoded": ("false", False),
        "trust_proxy_verification": ("true", True),
    }
    seen = set()
    for flag in FLAGS:
        if flag.lookup is not None:
            text, value = values[flag.field]
            seen.add(flag.field)
            for name in flag.variables:
                environment = {"REALMGATE_CERTIFICATE_LOOKUP": flag.lookup, name: text}
                assert getattr(load(environment), flag.field) == value, name
            given = load_settings(
                {flag.variables[0]: text},
                environment={"KC_SPI_X509CERT_LOOKUP_PROVIDER": flag.lookup},
                env_file=Path("/nonexistent"),
            )
            assert getattr(given, flag.field) == value
    assert seen == values.keys()


def test_options_the_configured_lookup_lacks_are_refused() -> None:
    (line,) = refusal({"KC_SPI_X509CERT_LOOKUP_HAPROXY_SSL_CLIENT_CERT": "x"})
    assert line == (
        "KC_SPI_X509CERT_LOOKUP_HAPROXY_SSL_CLIENT_CERT is an option of the lookup haproxy, and"
        " nginx is configured"
    )
    for lookup, name in (
        ("envoy", "CERTIFICATE_HEADER"),
        ("nginx", "CERTIFICATE_CHAIN_HEADER"),
        ("nginx", "CERTIFICATE_VERDICT_HEADER"),
        ("traefik", "CERTIFICATE_CHAIN_PREFIX"),
    ):
        (line,) = refusal({"REALMGATE_CERTIFICATE_LOOKUP": lookup, f"REALMGATE_{name}": "x-y"})
        assert line.startswith(f'REALMGATE_{name}: "x-y" given, no value with the lookup {lookup}')


def test_one_header_has_one_meaning() -> None:
    """The default header of the certificate included; a length has a limit."""
    haproxy = {"REALMGATE_CERTIFICATE_LOOKUP": "haproxy"}
    for name in ("CHAIN_HEADER", "CHAIN_PREFIX", "VERDICT_HEADER"):
        variable = f"REALMGATE_CERTIFICATE_{name}"
        assert refusal(haproxy | {variable: "SSL-Client-Cert"})[0].startswith(f"{variable}: ")
    for length in ("-1", "11", "x"):
        assert "from 0 to 10" in refusal({"REALMGATE_CERTIFICATE_CHAIN_LENGTH": length})[0]


def test_an_unknown_option_of_the_lookup_is_refused() -> None:
    assert "is not a setting" in refusal({"KC_SPI_X509CERT_LOOKUP_NGINX_SSL_CERT": "x"})[0]


def test_our_own_name_wins_over_keycloaks_for_the_administrator() -> None:
    keycloak = {"KC_BOOTSTRAP_ADMIN_USERNAME": "kc", "KC_BOOTSTRAP_ADMIN_PASSWORD": "kc-word"}
    assert load(keycloak).admin == "kc"
    settings = load(keycloak | {"REALMGATE_ADMIN": "ours", "REALMGATE_ADMIN_PASSWORD": "our-word"})
    assert settings.admin == "ours"
    assert settings.admin_password == Secret("our-word")


def test_trusting_proxies_over_tcp_demands_the_proxy_secret() -> None:
    tcp = {"REALMGATE_LISTEN": "127.0.0.1:8000", "REALMGATE_TRUSTED_PROXIES": "127.0.0.1"}
    (line,) = refusal(tcp)
    assert line == (
        "REALMGATE_PROXY_SECRET: nothing given, a secret, where REALMGATE_TRUSTED_PROXIES meets a"
        " TCP listener expected"
    )
    assert load(tcp | {"REALMGATE_PROXY_SECRET": "sixteen letters!"}).trusted_proxies


def test_authorities_demand_their_revocation_lists(tmp_path: Path) -> None:
    """Where nginx accepts any certificate, the gateway alone knows of revocations."""
    authorities = tmp_path / "ca.crt"
    authorities.touch()
    given = {"REALMGATE_CLIENT_CA_FILE": str(authorities)}
    (line,) = refusal(given)
    assert line == (
        "REALMGATE_CLIENT_CRL_FILE: nothing given, revocation lists beside"
        " REALMGATE_CLIENT_CA_FILE, since the gateway checks revocation itself (an authority"
        " without revocations issues an empty list), expected"
    )
    assert load(given | {"REALMGATE_CLIENT_CRL_FILE": str(authorities)}).client_ca_file
    urls = "http://ca.example/a.crl,https://ca.example/b.crl"
    assert load(given | {"REALMGATE_CLIENT_CRL_URLS": urls}).client_crl_urls == tuple(
        urls.split(",")
    )


def test_listeners_are_a_unix_path_or_host_and_port(tmp_path: Path) -> None:
    default = load({"REALMGATE_STATE_DIR": str(tmp_path)})
    assert default.listen == UnixAddress(tmp_path / "run" / "gateway.sock")
    assert default.database_url == Secret(f"sqlite:///{tmp_path}/realmgate.db")
    assert load(options={"listen": "[::1]:80"}).listen == TcpAddress("::1", 80)
    assert "107 bytes" in refusal({}, {"listen": "unix:/" + "x" * 107})[0]
    assert "expected" in refusal({}, {"listen": "localhost:99999"})[0]


@pytest.mark.parametrize(
    ("text", "seconds"), [("10", 10), ("10s", 10), ("250ms", 0.25), ("5m", 300), ("1.5h", 5400)]
)
def test_durations_carry_a_unit(text: str, seconds: float) -> None:
    assert load(options={"shutdown_grace": text}).shutdown_grace == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["https://", "ftp://x", "https://x/?a", "https://u@x", "//x"])
def test_a_public_address_that_cannot_be_an_issuer_is_refused(text: str) -> None:
    assert refusal({"REALMGATE_PUBLIC_URL": text})[0].startswith("REALMGATE_PUBLIC_URL")


def test_a_public_address_loses_its_last_slash() -> None:
    assert (
        load({"REALMGATE_PUBLIC_URL": "https://x.test/auth/"}).public_url == "https://x.test/auth"
    )


@example("INFINITY")
@example("nan")
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_any_text_is_taken_or_refused_as_a_setting(text: str) -> None:
    names = ("SHUTDOWN_GRACE", "LISTEN", "TRUSTED_PROXIES", "PUBLIC_URL", "CERTIFICATE_HEADER")
    for name in names:
        try:
            load({f"REALMGATE_{name}": text})
        except SettingsError as refused:
            assert str(refused).startswith(f"REALMGATE_{name}: ")


def test_the_sample_file_names_every_setting_and_nothing_else() -> None:
    sampled = {
        line.lstrip("# ").partition("=")[0]
        for line in SAMPLE.read_text().splitlines()
        if line.startswith(("REALMGATE_", "#REALMGATE_"))
    }
    assert sampled == {variable(field) for field in SETTING_NAMES}


def test_the_sample_file_shows_the_defaults_in_force(tmp_path: Path) -> None:
    plain = [
        line.removeprefix("#")
        for line in SAMPLE.read_text().splitlines()
        if line.startswith("#REALMGATE_") and not line.endswith("=")
    ]
    env_file = tmp_path / ".env"
    env_file.write_text("\n".join(plain))
    assert load(env_file=env_file) == load()


def test_a_url_with_a_password_in_it_is_not_quoted() -> None:
    (line,) = refusal({"REALMGATE_PUBLIC_URL": "https://user:canary@host"})
    assert line.startswith("REALMGATE_PUBLIC_URL: ")
    assert "canary" not in line


def test_a_dotenv_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    env_file = tmp_path / ".env"
    env_file.write_bytes(b"REALMGATE_ADMIN=\xff\xfe")
    with pytest.raises(SettingsError, match=r"cannot be read: UTF-8 text is expected\Z"):
        load(env_file=env_file)


def test_a_path_that_no_file_can_have_is_told() -> None:
    (line,) = refusal({"REALMGATE_ADMIN_PASSWORD_FILE": "a\0b"})
    assert "the path of a readable file" in line
