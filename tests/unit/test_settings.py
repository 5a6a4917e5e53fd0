"""Settings: where they come from, which wins, and how mistakes are told."""

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.domain.secrets import Secret
from gateway.settings import (
    SCRIPT_NAMES,
    Settings,
    SettingsError,
    TcpAddress,
    UnixAddress,
    file_variable,
    load_settings,
    variable,
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


def test_flags_beat_the_environment_which_beats_dotenv_which_beats_the_default(
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
    assert "nobody is not an IP address" in "\n".join(lines)


def test_an_unknown_name_is_refused_with_the_nearest_known_one(tmp_path: Path) -> None:
    assert refusal({"REALMGATE_WORKER": "2"}) == [
        "REALMGATE_WORKER is not a setting; did you mean REALMGATE_WORKERS?"
    ]
    env_file = tmp_path / ".env"
    env_file.write_text("REALMGATE_ZZZ=1\nPATH=/bin\n")
    with pytest.raises(SettingsError, match="REALMGATE_ZZZ is not a setting"):
        load(env_file=env_file)


def test_names_of_the_scripts_are_tolerated() -> None:
    assert "REALMGATE_URL" in SCRIPT_NAMES
    assert load(dict.fromkeys(SCRIPT_NAMES, "x")) == load()


def test_an_empty_value_counts_as_not_given() -> None:
    assert load({"REALMGATE_WORKERS": "", "REALMGATE_REDIS_URL": ""}) == load()


@pytest.mark.parametrize("field", [name for name in Settings.model_fields if file_variable(name)])
def test_a_secret_may_stand_in_a_file(field: str, tmp_path: Path) -> None:
    content = "https://x.test" if "public" in field else "a secret of some length"
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


def test_a_secret_never_appears_in_a_refusal_or_in_the_settings() -> None:
    canary = "canary"
    assert canary not in "\n".join(refusal({"REALMGATE_PROXY_SECRET": canary}))
    shown = repr(
        load(
            {
                "REALMGATE_ADMIN_PASSWORD": canary,
                "REALMGATE_DATABASE_URL": canary,
                "REALMGATE_REDIS_URL": canary,
                "REALMGATE_ENCRYPTION_KEY": canary,
            }
        )
    )
    assert canary not in shown


@pytest.mark.parametrize(
    "name", ["KC_SPI_X509CERT_LOOKUP_PROVIDER", "KC_SPI_X509CERT_LOOKUP__PROVIDER"]
)
def test_an_unknown_lookup_provider_is_refused_naming_the_allowed_ones(name: str) -> None:
    assert load({name: "nginx"}).certificate_lookup == "nginx"
    assert refusal({name: "aparche"}) == [
        f"{name}: 'aparche' given: no such provider, expected: nginx"
    ]


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
    assert refusal(tcp) == [
        "REALMGATE_PROXY_SECRET: required where trusted_proxies meet a TCP listener"
    ]
    assert load(tcp | {"REALMGATE_PROXY_SECRET": "sixteen letters!"}).trusted_proxies


def test_authorities_demand_their_revocation_lists(tmp_path: Path) -> None:
    """Where nginx accepts any certificate, the gateway alone knows of revocations."""
    authorities = tmp_path / "ca.crt"
    authorities.touch()
    given = {"REALMGATE_CLIENT_CA_FILE": str(authorities)}
    (line,) = refusal(given)
    assert line == (
        "REALMGATE_CLIENT_CRL_FILE: expected beside REALMGATE_CLIENT_CA_FILE: the gateway checks"
        " revocation itself (an authority without revocations issues an empty list)"
    )
    assert load(given | {"REALMGATE_CLIENT_CRL_FILE": str(authorities)}).client_ca_file


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
    assert sampled == {variable(field) for field in Settings.model_fields}


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
    with pytest.raises(SettingsError, match="cannot be read"):
        load(env_file=env_file)


def test_a_path_that_no_file_can_have_is_told() -> None:
    (line,) = refusal({"REALMGATE_ADMIN_PASSWORD_FILE": "a\0b"})
    assert "cannot be read" in line
