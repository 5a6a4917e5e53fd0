"""Forged JWTs: everything an attacker can make from one genuine token and the published JWKS.

`forgeries` needs no private key, so it serves over HTTP; `insider_forgeries` are signed with the
realm's own key, to show that a right signature does not excuse a wrong header.

Spec: RFC 8725 §2, §3. CVE-2015-9235 (none, HMAC under the public key), CVE-2018-0114 (embedded
jwk), CVE-2026-11800.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
Header = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Forgery:
    """A token that must be refused; `name` says what is wrong with it."""

    name: str
    token: str

    def __str__(self) -> str:
        """Serve as pytest's parameter id."""
        return self.name


def part(value: bytes | Mapping[str, Any]) -> str:
    """Return one part of a compact JWS."""
    raw = value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def unpart(text: str) -> bytes:
    """Return the bytes of one part."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def header_of(token: str) -> Header:
    """Return the header of a token, unverified."""
    header: Header = json.loads(unpart(token.split(".", 1)[0]))
    return header


def claims_of(token: str) -> dict[str, Any]:
    """Return the claims of a token, unverified."""
    claims: dict[str, Any] = json.loads(unpart(token.split(".")[1]))
    return claims


def assemble(
    header: bytes | Mapping[str, Any],
    payload: bytes | Mapping[str, Any],
    sign: Callable[[bytes], bytes],
) -> str:
    """Return a compact JWS with any header, any payload and any signature."""
    signing_input = f"{part(header)}.{part(payload)}"
    return f"{signing_input}.{part(sign(signing_input.encode()))}"


def signer(key: PrivateKey, algorithm: str) -> Callable[[bytes], bytes]:
    """Return a JWS signature function made of cryptography alone, as an independent check."""
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return key.sign
    digests: dict[str, hashes.HashAlgorithm] = {
        "256": hashes.SHA256(),
        "384": hashes.SHA384(),
        "512": hashes.SHA512(),
    }
    digest = digests[algorithm[2:]]
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return lambda message: _raw_ecdsa(key, message, digest)
    scheme = _pss(digest) if algorithm.startswith("PS") else padding.PKCS1v15()
    return lambda message: key.sign(message, scheme, digest)


def _pss(digest: hashes.HashAlgorithm) -> padding.PSS:
    return padding.PSS(mgf=padding.MGF1(digest), salt_length=digest.digest_size)


def _raw_ecdsa(
    key: ec.EllipticCurvePrivateKey, message: bytes, digest: hashes.HashAlgorithm
) -> bytes:
    width = (key.key_size + 7) // 8
    r, s = decode_dss_signature(key.sign(message, ec.ECDSA(digest)))
    return r.to_bytes(width, "big") + s.to_bytes(width, "big")


def forgeries(genuine: str, jwk: Mapping[str, Any]) -> tuple[Forgery, ...]:
    """Return every forgery that can be made from a token and the JWK of its key."""
    makers = (_unsigned, _public_key_as_secret, _relabelled, _kids, _own_key, _malformed, _altered)
    return tuple(
        Forgery(name, token) for maker in makers for name, token in maker(genuine, dict(jwk))
    )


def insider_forgeries(genuine: str, key: PrivateKey) -> tuple[Forgery, ...]:
    """Return tokens rightly signed by the realm's `key` whose header must not be accepted."""
    header, claims = header_of(genuine), claims_of(genuine)
    sign = signer(key, header["alg"])
    repeated = json.dumps(header)[:-1].encode() + b',"alg":"' + header["alg"].encode() + b'"}'
    headers: dict[str, Header | bytes] = {
        "without alg": {name: header[name] for name in header if name != "alg"},
        "alg in lower case": header | {"alg": header["alg"].lower()},
        "alg is a list": header | {"alg": [header["alg"]]},
        "crit with exp": header | {"crit": ["exp"], "exp": 1},
        "crit with b64": header | {"crit": ["b64"], "b64": True},
        "crit is empty": header | {"crit": []},
        "typ of a logout token": header | {"typ": "logout+jwt"},
        "without kid": {name: header[name] for name in header if name != "kid"},
        "kid is null": header | {"kid": None},
        "kid in a list": header | {"kid": [header["kid"]]},
        "header with a repeated name": repeated,
        "header in UTF-16": json.dumps(header).encode("utf-16"),
        "header with a byte-order mark": b"\xef\xbb\xbf" + json.dumps(header).encode(),
        "header larger than any of ours": header | {"x": "x" * 4096},
    }
    made = [Forgery(name, assemble(value, claims, sign)) for name, value in headers.items()]
    payloads = {
        "a list": b"[]",
        "a text": b'"x"',
        "a number": b"1",
        "no JSON": b"{",
        "null": b"null",
    }
    made += [
        Forgery(f"payload is {name}", assemble(header, payload, sign))
        for name, payload in payloads.items()
    ]
    large = assemble(header, claims | {"x": "x" * 20_000}, sign)
    made.append(Forgery("token larger than any of ours", large))
    return (*made, *_same_key_other_algorithm(header, claims, key))


def _same_key_other_algorithm(
    header: Header, claims: dict[str, Any], key: PrivateKey
) -> Iterator[Forgery]:
    if not isinstance(key, rsa.RSAPrivateKey):
        return
    for other in ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"):
        if other != header["alg"]:
            token = assemble(header | {"alg": other}, claims, signer(key, other))
            yield Forgery(f"the right key used with {other}", token)
            lie = assemble(header, claims, signer(key, other))
            yield Forgery(f"signed with {other} under the key's own alg", lie)


def _unsigned(genuine: str, _jwk: Header) -> Iterator[tuple[str, str]]:
    header, claims = header_of(genuine), claims_of(genuine)
    signature = genuine.rsplit(".", 1)[1]
    for name in ("none", "None", "NONE", "nOnE", "", "none "):
        unsigned = f"{part(header | {'alg': name})}.{part(claims)}."
        yield f"alg {name!r} without signature", unsigned
        yield f"alg {name!r} with the old signature", unsigned + signature
    yield "signature removed", genuine.rsplit(".", 1)[0] + "."
    yield "signature and its dot removed", genuine.rsplit(".", 1)[0]


def _public_key_as_secret(genuine: str, jwk: Header) -> Iterator[tuple[str, str]]:
    header, claims = header_of(genuine), claims_of(genuine)
    for form, secret in _forms(jwk).items():
        for size in (256, 384, 512):
            digest = getattr(hashlib, f"sha{size}")
            token = assemble(header | {"alg": f"HS{size}"}, claims, _hmac_signer(secret, digest))
            yield f"HS{size} keyed with the public key as {form}", token
        token = assemble(header, claims, _hmac_signer(secret, hashlib.sha256))
        yield f"HMAC under {header['alg']} keyed with the public key as {form}", token


def _hmac_signer(secret: bytes, digest: Any) -> Callable[[bytes], bytes]:
    return lambda message: hmac.new(secret, message, digest).digest()


def _forms(jwk: Header) -> dict[str, bytes]:
    """Return the ways in which an attacker may guess that the server holds its public key."""
    key = jwt.PyJWK(jwk).key
    info = PublicFormat.SubjectPublicKeyInfo
    forms = {
        "PEM": key.public_bytes(Encoding.PEM, info),
        "PEM without the last newline": key.public_bytes(Encoding.PEM, info).rstrip(),
        "DER": key.public_bytes(Encoding.DER, info),
        "JWK": json.dumps(jwk).encode(),
        "nothing": b"",
    }
    if isinstance(key, rsa.RSAPublicKey):
        forms["PKCS#1 PEM"] = key.public_bytes(Encoding.PEM, PublicFormat.PKCS1)
        forms["PKCS#1 DER"] = key.public_bytes(Encoding.DER, PublicFormat.PKCS1)
        forms["modulus"] = unpart(jwk["n"])
    if "x5c" in jwk:
        der = base64.b64decode(jwk["x5c"][0])
        certificate = x509.load_der_x509_certificate(der)
        forms["certificate DER"] = der
        forms["certificate PEM"] = certificate.public_bytes(Encoding.PEM)
    return forms


def _relabelled(genuine: str, _jwk: Header) -> Iterator[tuple[str, str]]:
    """Change the algorithm's name, keep the signature or sign with a key of the other kind."""
    header, claims = header_of(genuine), claims_of(genuine)
    signature = unpart(genuine.rsplit(".", 1)[1])
    for other in ("RS256", "RS512", "PS256", "ES256", "ES384", "EdDSA", "ES256K", "HS256", "dir"):
        if other != header["alg"]:
            relabelled = assemble(header | {"alg": other}, claims, lambda _: signature)
            yield f"alg changed to {other}", relabelled
    for other, key in attacker_keys().items():
        token = assemble(header | {"alg": other}, claims, signer(key, other))
        yield f"signed with an own {other} key under the realm's kid", token
    without = {name: header[name] for name in header if name != "alg"}
    yield "alg absent", assemble(without, claims, lambda _: signature)
    yield (
        "an ES256 signature of zeros",
        assemble(header | {"alg": "ES256"}, claims, lambda _: bytes(64)),
    )


def _kids(genuine: str, _jwk: Header) -> Iterator[tuple[str, str]]:
    header, claims = header_of(genuine), claims_of(genuine)
    kids: dict[str, Any] = {
        "a path": "../../../../../../dev/null",
        "an absolute path": "/proc/sys/kernel/randomize_va_space",
        "SQL": "x' UNION SELECT '' --",
        "a command": "|true",
        "a NUL": header["kid"] + "\0",
        "empty": "",
        "a number": 0,
        "true": True,
        "an object": {"$ne": None},
        "deeply nested": json.loads("[" * 300 + "]" * 300),
        "a million characters": "A" * 1_000_000,
        "a lone surrogate": "\ud800",
    }
    for name, kid in kids.items():
        for algorithm in ("HS256", header["alg"]):
            token = assemble(
                header | {"kid": kid, "alg": algorithm}, claims, _hmac_signer(b"", hashlib.sha256)
            )
            yield f"kid is {name}, alg {algorithm}", token


def _own_key(genuine: str, _jwk: Header) -> Iterator[tuple[str, str]]:
    """Sign with an own key and tell the server where to find it."""
    claims = claims_of(genuine)
    realm_kid = header_of(genuine)["kid"]
    for algorithm, key in attacker_keys().items():
        public = public_jwk(key, algorithm)
        for kid in (realm_kid, public["kid"]):
            whose = "the realm's" if kid == realm_kid else "an own"
            for name, extra in _pointers(public).items():
                header = {"alg": algorithm, "typ": "JWT", "kid": kid} | extra
                token = assemble(header, claims, signer(key, algorithm))
                yield f"{name} leads to an own {algorithm} key, {whose} kid", token


def _pointers(public: Header) -> dict[str, Header]:
    return {
        "jwk": {"jwk": public},
        "jku": {"jku": "https://attacker.test/jwks.json"},
        "x5u": {"x5u": "https://attacker.test/chain.pem"},
        "x5c": {"x5c": ["MIIB"], "x5t": "AAAA"},
    }


def _malformed(genuine: str, _jwk: Header) -> Iterator[tuple[str, str]]:
    header, payload, signature = genuine.split(".")
    yield "empty", ""
    yield "two dots", ".."
    yield "four parts", f"{genuine}.{signature}"
    yield "a JWE's five parts", f"{header}.{payload}.{signature}.{payload}.{signature}"
    yield "padded", f"{header}=.{payload}.{signature}=="
    yield "padded signature", f"{genuine}=="
    yield "plain base64 alphabet", f"{header}.{payload}.+/{signature[2:]}"
    yield "with a space", f"{header}.{payload} .{signature}"
    yield "with a newline at the end", f"{genuine}\n"
    yield "with a letter outside ASCII", f"{header}.{payload}.é{signature[1:]}"
    yield "header is a list", f"{part(b'[]')}.{payload}.{signature}"
    yield "header is no JSON", f"{part(b'{')}.{payload}.{signature}"
    yield "header is not UTF-8", f"{part(bytes([255, 254]))}.{payload}.{signature}"
    yield "header of a thousand brackets", f"{part(b'[' * 1500)}.{payload}.{signature}"
    yield (
        "header with a number of a million digits",
        (f"{part(b'{' + b'1' * 1000 + b'}')}.{payload}.{signature}"),
    )
    yield "JSON serialisation", json.dumps({"payload": payload, "signatures": [signature]})
    yield "larger than any token", f"{header}.{'A' * 20_000}.{signature}"


def _altered(genuine: str, _jwk: Header) -> Iterator[tuple[str, str]]:
    header, payload, signature = genuine.split(".")
    promoted = part(claims_of(genuine) | {"sub": "admin"})
    yield "claims changed", f"{header}.{promoted}.{signature}"
    yield "payload emptied", f"{header}.{part({})}.{signature}"
    yield "signature cut short", f"{header}.{payload}.{part(unpart(signature)[:-1])}"
    yield "signature too long", f"{header}.{payload}.{part(unpart(signature) + bytes(1))}"
    yield "signature of zeros", f"{header}.{payload}.{part(bytes(len(unpart(signature))))}"
    yield "signature of one byte", f"{header}.{payload}.AA"


def public_jwk(key: PrivateKey, algorithm: str) -> Header:
    """Return the JWK of an attacker's key."""
    made: Header = jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), as_dict=True)
    return made | {"kid": f"attacker-{algorithm}", "alg": algorithm, "use": "sig"}


@cache
def attacker_keys() -> dict[str, PrivateKey]:
    """Return keys that belong to no realm, one of each kind."""
    return {
        "RS256": rsa.generate_private_key(65537, 2048),
        "ES256": ec.generate_private_key(ec.SECP256R1()),
        "EdDSA": ed25519.Ed25519PrivateKey.generate(),
    }
