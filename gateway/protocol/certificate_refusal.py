"""Why the proxy refused a certificate, or that none was sent: an explanation for any caller.

Source: https://docs.openssl.org/3.0/man3/X509_STORE_CTX_get_error/ (the phrases of OpenSSL)
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from gateway.certificates import AnchoredTrust
from gateway.domain.certificates import (
    AnchorOrigin,
    CertificateEvidence,
    CertificateFacts,
    CertificationPath,
)
from gateway.domain.clock import Clock
from gateway.domain.distinguished_names import DistinguishedName
from gateway.domain.ports.certificates import NO_LIST, OF_AN_AUTHORITY, WAS_REVOKED
from gateway.domain.ports.lookups import Directory
from gateway.domain.realm import MASTER, Realm
from gateway.protocol.certificate_explanation import RevocationSources, Step

_LONGEST_NAME: Final = 300
"""Characters of a subject or issuer: a longer one is cut."""
_ABOUT_THE_LEAF: Final = re.compile(
    rf"(its ((extended )?key|signature) |{OF_AN_AUTHORITY}).*", re.DOTALL
)
"""Reasons of a path search that name nothing but the certificate itself."""
_NO_PATH: Final = "No trusted authority is known here that leads to its issuer."
_OF_AUTHORITIES: Final = (
    (re.compile("no path (leads over|was found by) .*", re.DOTALL), _NO_PATH),
    (
        re.compile(".* may not issue for .*", re.DOTALL),
        "Its authority may not issue for its names.",
    ),
    (re.compile("critical extension .*"), "It has a critical extension that is not known here."),
    (re.compile(".+", re.DOTALL), "The rules of the authorities above it do not allow it."),
)
"""What callers read for reasons that name authorities, the first that matches."""
_SELF_SIGNED: Final = "It is self-signed, and no authority here has issued it."
_REVOKED: Final = "It was revoked."
_WITHOUT_LIST: Final = (
    "This server has no revocation list of the authority that issued it, so it accepts none of the"
    " authority's certificates."
)
_LIST_TOO_OLD: Final = (
    "The revocation list of this server is out of date, so its certificates are not accepted."
)
_REALM_ALONE: Final = "This realm accepts it, but this address accepts other issuers only."
_OF_MASTER: Final = "The gateway accepts it, but this address accepts other issuers only."
_GATEWAY_ALONE: Final = "The gateway knows the authority that issued it, but this server does not."
_FILES_DIFFER: Final = (
    "Tell the administrator of this service, who has to add that authority to those of nginx"
    " (ca.crt), with its revocation list."
)
_BY_THE_PROXY: Final = "This server does not accept it."
_WORDS_WITHOUT_LIST: Final = "unable to get certificate CRL"
"""OpenSSL says it of an unknown issuer too, where lists are required."""
_LONGEST_WORDS: Final = 120
_PHRASES: Final[Mapping[str, tuple[Step, str]]] = {
    "certificate has expired": (Step.VALIDITY, "It or one of its authorities has expired."),
    "certificate is not yet valid": (
        Step.VALIDITY,
        "It or one of its authorities is not valid yet.",
    ),
    "certificate revoked": (Step.REVOCATION, _REVOKED),
    "CRL has expired": (Step.REVOCATION, _LIST_TOO_OLD),
    "CRL is not yet valid": (Step.REVOCATION, "The revocation list of this server begins later."),
    _WORDS_WITHOUT_LIST: (
        Step.PATH,
        "Its issuer is not known here, or this server lacks its revocation list.",
    ),
    "unable to verify the first certificate": (Step.PATH, _NO_PATH),
    "unable to get local issuer certificate": (Step.PATH, _NO_PATH),
    "unable to get issuer certificate": (Step.PATH, _NO_PATH),
    "self-signed certificate": (Step.PATH, _SELF_SIGNED),
    "self signed certificate": (Step.PATH, _SELF_SIGNED),
    "self-signed certificate in certificate chain": (Step.PATH, _NO_PATH),
    "self signed certificate in certificate chain": (Step.PATH, _NO_PATH),
    "unsuitable certificate purpose": (Step.PATH, "It is not meant for client authentication."),
}
_CHECKED: Final = (Step.PATH, Step.VALIDITY, Step.REVOCATION)
_ADVICE: Final[Mapping[Step, str]] = {
    Step.CERTIFICATE: (
        "Choose your certificate when the browser asks for it; name it to programs such as curl"
        " together with its key. If you have none, ask the administrator of this service."
    ),
    Step.PATH: (
        "Choose another certificate. If this is the right one, ask the administrator of this"
        " service for a new one, or to trust the authority that issued it."
    ),
    Step.VALIDITY: "Renew the certificate, or choose another one.",
    Step.REVOCATION: (
        "Choose another certificate. If you have none, ask the administrator of this service."
    ),
}
_SEND_CHAIN: Final = (
    "Choose another certificate. If this is the right one, send its intermediate certificates"
    " along, or ask the administrator of this service for a new one."
)
_CHAIN_IS_DROPPED: Final = (
    " Intermediate certificates that you send along do not reach this service: its administrator"
    " has to register them."
)
"""Of a path that lacks its issuer, behind a proxy that passes the certificate alone."""
_MAKE_ANOTHER: Final = (
    "Send a certificate for a client, not for an authority. To make a self-signed one use openssl"
    " req -x509 -addext basicConstraints=critical,CA:FALSE, and have it registered."
)
_NOT_YOUR_FAULT: Final = (
    "Your certificate may be in order. Tell the administrator of this service, who has to provide"
    " the current revocation list; realmgate doctor names the authority."
)
_ANOTHER_ADDRESS: Final = (
    "Use the address of this service that passes certificates of every issuer to the realm, or ask"
    " the administrator for it. With nginx it has ssl_verify_client optional_no_ca."
)
_IF_REGISTERED: Final = (
    "If it is registered for a client, use the address of this service that accepts certificates of"
    " every issuer; with nginx it has ssl_verify_client optional_no_ca. Otherwise choose another"
    " certificate."
)
_NOT_YET: Final = "Check the clock of the machine that issued it, or choose another certificate."


@dataclass(frozen=True, slots=True)
class CertificateRefusal:
    """Why a certificate is refused: failing step, sentence, advice; `leaf` is None without one."""

    step: Step
    sentence: str
    advice: str
    leaf: CertificateFacts | None = None
    words: str = ""
    """The proxy's own words, such as `certificate has expired`; empty where it had none."""

    @property
    def title(self) -> str:
        if self.leaf is None:
            return "A client certificate is needed"
        return "Your client certificate was refused"

    @property
    def checks(self) -> dict[str, str]:
        """The checks of a certificate that was sent, in their order, each with its result."""
        if self.leaf is None:
            return {}
        at = _CHECKED.index(self.step)
        results = ("passed",) * at + ("failed",) + ("not checked",) * (len(_CHECKED) - at - 1)
        return dict(zip((step.value for step in _CHECKED), results, strict=True))

    @property
    def subject(self) -> str:
        return "" if self.leaf is None else _shown(self.leaf.subject)

    @property
    def issuer(self) -> str:
        return "" if self.leaf is None else _shown(self.leaf.issuer)

    @property
    def begin(self) -> str:
        return "" if self.leaf is None else _date(self.leaf.not_before)

    @property
    def end(self) -> str:
        return "" if self.leaf is None else _date(self.leaf.not_after)

    def document(self) -> dict[str, Any]:
        """Return the members of the JSON object; instants are RFC 3339."""
        text = f"{self.title}. {self.sentence} {self.advice}"
        found: dict[str, Any] = {"error": "invalid_client", "error_description": text}
        if self.leaf is not None:
            found["failed_step"] = self.step.value
            found["checks"] = self.checks
            found["proxy_reason"] = self.words
            found["certificate"] = {
                "subject": self.subject,
                "issuer": self.issuer,
                "not_before": self.leaf.not_before.isoformat(),
                "not_after": self.leaf.not_after.isoformat(),
            }
        return found


MISSING_CERTIFICATE: Final = CertificateRefusal(
    Step.CERTIFICATE, "No certificate was sent.", _ADVICE[Step.CERTIFICATE]
)


class RefusalExplainer:
    """Explains the proxy's refusals. Belongs to one event loop.

    The explanation names the certificate of the caller and the results of its checks, no clients,
    anchors, URLs or deny lists. The proxy's words count where the gateway finds less. Nothing is
    fetched.
    """

    def __init__(
        self,
        directory: Directory,
        trust: AnchoredTrust,
        sources: RevocationSources,
        clock: Clock,
        *,
        passes_chain: bool,
    ) -> None:
        """Take `passes_chain`: whether intermediate certificates of callers reach the gateway."""
        self._directory = directory
        self._trust = trust
        self._sources = sources
        self._clock = clock
        self._passes_chain = passes_chain

    async def explain(
        self, evidence: CertificateEvidence, realm_name: str | None
    ) -> CertificateRefusal:
        """Explain by anchors and deny list of the realm; outside of enabled realms by master's."""
        now = self._clock.now()
        entry = None if realm_name is None else await self._directory.realm(realm_name)
        is_asked = entry is not None and entry.realm.enabled
        if not is_asked:
            entry = await self._directory.realm(MASTER)
        found = None if entry is None else await self._in_realm(evidence, entry.realm, now)
        refusal = found or _in_words(evidence)
        if refusal.sentence == _REALM_ALONE and not is_asked:
            refusal = replace(refusal, sentence=_OF_MASTER)
        return replace(refusal, advice=self._advice(refusal), words=_words(evidence))

    def _advice(self, refusal: CertificateRefusal) -> str:
        """Return the advice, about intermediate certificates only where they matter."""
        if refusal.sentence == _SELF_SIGNED:
            return _IF_REGISTERED
        if refusal.sentence != _NO_PATH:
            return refusal.advice
        return _SEND_CHAIN if self._passes_chain else f"{refusal.advice}{_CHAIN_IS_DROPPED}"

    async def _in_realm(
        self, evidence: CertificateEvidence, realm: Realm, now: datetime
    ) -> CertificateRefusal | None:
        leaf = evidence.leaf
        result = await self._trust.find_path(evidence, realm, now)
        path = result.path
        if path is None:
            return _without_path(evidence, result.refusal or "", now)
        if not path.holds_at(now):
            return _late(path, leaf, now)
        if await self._sources.deny_lists.refusal(path, realm, now) is not None:
            return _refusal(Step.REVOCATION, "It is denied.", leaf)
        lists = self._sources.lists
        reason = None if lists is None else await lists.refusal(path, realm, now)
        if reason is not None:
            return _by_lists(evidence, reason)
        if path.origin is AnchorOrigin.SETTINGS and evidence.reason == _WORDS_WITHOUT_LIST:
            return CertificateRefusal(Step.REVOCATION, _WITHOUT_LIST, _NOT_YOUR_FAULT, leaf)
        if _step_in_words(evidence) is not Step.PATH:
            return None
        if path.origin is AnchorOrigin.SETTINGS:
            return CertificateRefusal(Step.PATH, _GATEWAY_ALONE, _FILES_DIFFER, leaf)
        return CertificateRefusal(Step.PATH, _REALM_ALONE, _ANOTHER_ADDRESS, leaf)


def _by_lists(evidence: CertificateEvidence, reason: str) -> CertificateRefusal:
    """Explain a refusal by the revocation lists of the settings."""
    leaf = evidence.leaf
    if reason.endswith(WAS_REVOKED):
        return _refusal(Step.REVOCATION, _REVOKED, leaf)
    if reason.startswith(NO_LIST):
        return CertificateRefusal(Step.REVOCATION, _WITHOUT_LIST, _NOT_YOUR_FAULT, leaf)
    if _step_in_words(evidence) is Step.REVOCATION:
        return _in_words(evidence)
    return CertificateRefusal(Step.REVOCATION, _LIST_TOO_OLD, _NOT_YOUR_FAULT, leaf)


def _without_path(evidence: CertificateEvidence, reason: str, now: datetime) -> CertificateRefusal:
    """Explain a missing path; a proxy that names dates or revocation found one of its own."""
    leaf = evidence.leaf
    if _ABOUT_THE_LEAF.fullmatch(reason):
        found = _refusal(Step.PATH, f"{reason[0].upper()}{reason[1:]}.", leaf)
        of_authority = reason.startswith(OF_AN_AUTHORITY)
        return replace(found, advice=_MAKE_ANOTHER) if of_authority else found
    if _step_in_words(evidence) in {Step.VALIDITY, Step.REVOCATION}:
        return _late(CertificationPath.of(leaf), leaf, now) or _in_words(evidence)
    if not reason and leaf.issuer == leaf.subject:
        return _refusal(Step.PATH, _SELF_SIGNED, leaf)
    known = (sentence for pattern, sentence in _OF_AUTHORITIES if pattern.fullmatch(reason))
    return _refusal(Step.PATH, next(known, _NO_PATH), leaf)


def _step_in_words(evidence: CertificateEvidence) -> Step | None:
    """Return the step that the proxy speaks of, None for words that are not known."""
    said = _PHRASES.get(evidence.reason or "")
    return None if said is None else said[0]


def _in_words(evidence: CertificateEvidence) -> CertificateRefusal:
    """Return the refusal by the proxy's words."""
    step, sentence = _PHRASES.get(evidence.reason or "", (Step.PATH, _BY_THE_PROXY))
    found = _refusal(step, sentence, evidence.leaf)
    is_ours = step is Step.REVOCATION and sentence != _REVOKED
    return replace(found, advice=_NOT_YOUR_FAULT) if is_ours else found


def _words(evidence: CertificateEvidence) -> str:
    """Return the proxy's words, which are phrases of OpenSSL, as one short line."""
    text = evidence.reason or ""
    return text[:_LONGEST_WORDS] if text.isprintable() else ""


def _late(
    path: CertificationPath, leaf: CertificateFacts, now: datetime
) -> CertificateRefusal | None:
    """Return the refusal of a path that does not hold at `now`; None where it does."""
    if leaf.not_after < now:
        sentence = f"It ended on {_date(leaf.not_after)}."
    elif leaf.not_before > now:
        sentence = f"It is not valid before {_date(leaf.not_before)}."
        return CertificateRefusal(Step.VALIDITY, sentence, _NOT_YET, leaf)
    elif path.holds_at(now):
        return None
    else:
        sentence = "The certificate of one of its authorities is expired or not valid yet."
    return _refusal(Step.VALIDITY, sentence, leaf)


def _refusal(step: Step, sentence: str, leaf: CertificateFacts) -> CertificateRefusal:
    return CertificateRefusal(step, sentence, _ADVICE[step], leaf)


def _date(instant: datetime) -> str:
    return f"{instant.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _shown(name: DistinguishedName) -> str:
    """Return the name as one line, in which RFC 4514 leaves no character that is not printable."""
    text = name.rfc4514()
    cut = text if len(text) <= _LONGEST_NAME else f"{text[:_LONGEST_NAME]}…"
    return cut or "(none)"
