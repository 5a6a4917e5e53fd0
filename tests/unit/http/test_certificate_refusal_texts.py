"""Every sentence about a refused certificate is there in every language of the pages."""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

import gateway
from gateway.domain.localization import ENGLISH, Catalog
from gateway.domain.realm import Localization, Realm
from gateway.http.certificate_refusal import RefusalPage
from gateway.http.pages import AccountLinks, PageRenderer, Pages, ResourceUrls, load_designs
from gateway.protocol import certificate_refusal
from gateway.protocol.account_console import ConsoleClients
from gateway.protocol.certificate_explanation import Step
from gateway.protocol.certificate_refusal import MISSING_CERTIFICATE, CertificateRefusal

DESIGNS: Final = load_designs(None)
LOCALES: Final = ("en", "de", "fr", "es", "ja", "ar")
REALM: Final = Realm(
    "demo",
    "demo",
    display_name="Demo Company",
    localization=Localization(enabled=True, supported_locales=LOCALES),
    attributes={"realmgate.login.accentColor": "#0f766e", "realmgate.contact": "pki@example.com"},
)
_OF_AUTHORITIES: Final = vars(certificate_refusal)["_OF_AUTHORITIES"]
_PHRASES: Final = vars(certificate_refusal)["_PHRASES"]
_SENTENCE: Final = re.compile(r"[A-Z].* .*\.")


class _NoTexts:
    """A realm that has changed no text."""

    async def find_texts(self, realm_id: str, locales: Sequence[str]) -> Mapping[str, Catalog]:  # noqa: ARG002 - the port's
        return {}


def _page() -> RefusalPage:
    renderer = PageRenderer(DESIGNS, ResourceUrls.below("", DESIGNS.version))
    nowhere: Any = None  # no page of refusals looks for an account
    accounts = AccountLinks(ConsoleClients(nowhere), "")
    return RefusalPage(DESIGNS, Pages(renderer, _NoTexts(), accounts))


def _html(refusal: CertificateRefusal, languages: str, realm: Realm | None = REALM) -> str:
    reply = asyncio.run(_page().render(refusal, realm, languages, "id-1"))
    return reply.body.decode()


def _sentences() -> Iterator[str]:
    """Find the sentences of the module, which are its texts for people."""
    for value in vars(certificate_refusal).values():
        yield from _sentences_in(value)
    at = f"{datetime(2026, 1, 2, 3, 4, tzinfo=UTC):%Y-%m-%d %H:%M} UTC"
    yield from (f"It ended on {at}.", f"It is not valid before {at}.")
    yield "The certificate of one of its authorities is expired or not valid yet."
    yield "It is denied."
    constants = vars(certificate_refusal)
    yield f"{constants['_ADVICE'][Step.PATH]}{constants['_CHAIN_IS_DROPPED']}"


def _sentences_in(value: object) -> Iterator[str]:
    match value:
        case CertificateRefusal():
            yield from (value.sentence, value.advice)
        case str() if _SENTENCE.fullmatch(value):
            yield value
        case Mapping():
            yield from (text for each in value.values() for text in _sentences_in(each))
        case tuple():
            yield from (text for each in value for text in _sentences_in(each))


@pytest.mark.parametrize("locale", [tag for tag in LOCALES if tag != ENGLISH])
def test_every_sentence_has_a_translation(locale: str) -> None:
    found = {text for text in _sentences() if not text.startswith("Why ")}
    assert len(found) > 15
    for text in found:
        page = _html(CertificateRefusal(Step.PATH, text, text), locale)
        assert 'lang="en"' not in page, (locale, text)
        assert text not in page, (locale, text)
        assert f'<html lang="{locale}"' in page


def test_reasons_of_a_search_without_a_path_name_no_rule() -> None:
    told = [
        next(sentence for pattern, sentence in _OF_AUTHORITIES if pattern.fullmatch(reason))
        for reason in ("no path was found by checking 100 signatures", "no path leads over CN=x")
    ]
    assert set(told) == {"No trusted authority is known here that leads to its issuer."}


def test_every_phrase_that_nginx_explains_is_known() -> None:
    """Those of OpenSSL in the static pages of nginx."""
    texts = Path("nginx/realmgate/error-texts.conf").read_text()
    verdicts = texts.partition("$realmgate_error_verdict {")[2].partition("}")[0]
    for said in re.findall(r'^ +"(?:~\^)?FAILED:([^"]+)"', verdicts, re.MULTILINE):
        if "A-Za-z" not in said:
            phrases = {f"unable to get {kind}issuer certificate" for kind in ("local ", "")}
            phrases |= {"unable to verify the first certificate"}
            assert (phrases if "?<" in said else {said}) <= _PHRASES.keys(), said


def test_every_text_of_the_pages_is_shown_somewhere() -> None:
    texts = DESIGNS.built_in.catalogs[ENGLISH]
    sentences = set(_sentences())
    folder = Path(gateway.__file__).parent
    files = (*folder.rglob("*.html"), *folder.rglob("*.py"))
    named = set(re.findall(r"\bcertificate\w+\.?", "".join(each.read_text() for each in files)))
    for key in (key for key in texts if key.startswith("certificate")):
        pattern = re.sub(r"\\\{\d\\\}", ".+", re.escape(texts[key].replace("''", "'")))
        is_sentence = any(re.fullmatch(pattern, sentence) for sentence in sentences)
        assert is_sentence or named & {key, f"{key.partition('.')[0]}."}, key


def test_a_sentence_without_a_translation_is_marked_as_english() -> None:
    page = _html(CertificateRefusal(Step.PATH, "Its key is weak: RSA 512.", "Renew it."), "de")
    assert '<p role="alert" lang="en" dir="ltr">Its key is weak: RSA 512.</p>' in page


def test_the_page_has_the_look_of_the_others() -> None:
    page = _html(MISSING_CERTIFICATE, "en")
    assert "Demo Company" in page
    assert 'href="mailto:pki@example.com"' in page
    assert "--canvas: #f4f5f7" in page
    assert "--accent:#0f766e" in page
    assert not re.search(r"<script|<link|\sstyle=|url\(|https?://", page)
    assert "Demo Company" not in _html(MISSING_CERTIFICATE, "en", None)


def test_a_logo_of_this_server_is_not_loaded() -> None:
    """The proxy would refuse it as well."""
    own = Realm("demo", "demo", display_name="D", attributes={"realmgate.login.logo": "/l.svg"})
    assert "<img" not in _html(MISSING_CERTIFICATE, "en", own)
    embedded = {"realmgate.login.logo": "data:image/png;base64,AAAA"}
    other = Realm("demo", "demo", display_name="D", attributes=embedded)
    assert 'src="data:image/png;base64,AAAA" alt="D"' in _html(MISSING_CERTIFICATE, "en", other)
