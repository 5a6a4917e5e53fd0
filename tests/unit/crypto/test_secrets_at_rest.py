"""Sealed secrets open only unaltered, in their own place, under a key the operator holds."""

import base64
import hashlib
import string

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from gateway.crypto.secrets_at_rest import AesGcmSecrets
from gateway.domain.errors import SecretUnreadable

OLD = bytes(range(32))
NEW = bytes(range(32, 64))


@given(st.text(), st.text(st.characters(codec="utf-8")))
def test_what_was_sealed_is_returned_and_is_ascii(plaintext: str, context: str) -> None:
    secrets = AesGcmSecrets((OLD,))
    sealed = secrets.seal(plaintext, context)
    assert sealed.isascii()
    assert secrets.unseal(sealed, context) == plaintext


def test_the_format_is_aes_256_gcm_with_context_as_aad() -> None:
    version, named, text = AesGcmSecrets((OLD,)).seal("s3cret", "client-secret:r:c").split(".")
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    decryptor = Cipher(algorithms.AES256(OLD), modes.GCM(raw[:12], raw[-16:])).decryptor()
    decryptor.authenticate_additional_data(b"client-secret:r:c")
    assert decryptor.update(raw[12:-16]) + decryptor.finalize() == b"s3cret"
    assert (version, named) == ("v1", hashlib.sha256(OLD).hexdigest()[:8])


def test_the_same_secret_never_seals_to_the_same_text() -> None:
    secrets = AesGcmSecrets((OLD,))
    assert len({secrets.seal("same", "c") for _ in range(64)}) == 64


def test_a_value_moved_to_another_context_does_not_open() -> None:
    secrets = AesGcmSecrets((OLD,))
    sealed = secrets.seal("s3cret", "client-secret:realm-1:a")
    with pytest.raises(SecretUnreadable, match="moved"):
        secrets.unseal(sealed, "client-secret:realm-2:a")


@given(st.integers(0, 1000), st.sampled_from("ABab01-_.v= \né"))
def test_no_altered_character_goes_unnoticed(position: int, character: str) -> None:
    secrets = AesGcmSecrets((OLD,))
    sealed = secrets.seal("eighteen bytes txt", "c")
    position %= len(sealed)
    altered = sealed[:position] + character + sealed[position + 1 :]
    if altered != sealed:
        with pytest.raises(SecretUnreadable):
            secrets.unseal(altered, "c")


def test_spare_bits_of_the_last_character_make_no_second_text() -> None:
    secrets = AesGcmSecrets((OLD,))
    sealed = secrets.seal("eighteen bytes txt", "c")  # 46 bytes in all: 4 spare bits
    twins = [sealed[:-1] + last for last in string.ascii_letters if last != sealed[-1]]
    for twin in twins:
        with pytest.raises(SecretUnreadable):
            secrets.unseal(twin, "c")


@pytest.mark.parametrize(
    "sealed", ["", "v1", "plain text", "v1..", "v2.00000000.AAAA", "v1.00000000.", "v1.630dcd29.A"]
)
def test_unsealed_text_is_refused_with_the_one_exception(sealed: str) -> None:
    with pytest.raises(SecretUnreadable):
        AesGcmSecrets((OLD,)).unseal(sealed, "c")


def test_another_key_is_told_by_name_and_no_key_is_printed() -> None:
    sealed = AesGcmSecrets((OLD,)).seal("s3cret", "c")
    old_id = hashlib.sha256(OLD).hexdigest()[:8]
    new_id = hashlib.sha256(NEW).hexdigest()[:8]
    with pytest.raises(SecretUnreadable, match=rf"key {old_id}, .*configured: {new_id}") as caught:
        AesGcmSecrets((NEW,)).unseal(sealed, "c")
    assert OLD.hex() not in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_after_a_change_of_key_the_newest_seals_and_both_open() -> None:
    before = AesGcmSecrets((OLD,))
    after = AesGcmSecrets((NEW, OLD))
    old_value, new_value = before.seal("first", "c"), after.seal("second", "c")
    assert after.unseal(old_value, "c") == "first"
    assert AesGcmSecrets((NEW,)).unseal(new_value, "c") == "second"
