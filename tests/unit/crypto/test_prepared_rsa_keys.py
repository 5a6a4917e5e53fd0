"""The RSA keys of gateways under test: whole keys, and never the same one twice."""

import multiprocessing
from itertools import islice, repeat
from typing import Final

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from tests.support.prepared_rsa_keys import PreparedRsaKeys

_ALL: Final = 112 * 111 // 2


def _modulus(keys: PreparedRsaKeys) -> int:
    return keys.generate(65537, 2048).public_key().public_numbers().n


def test_a_prepared_key_signs_and_has_the_size_asked_for() -> None:
    keys = PreparedRsaKeys()
    for size in (2048, 3072):
        key = keys.generate(65537, size)
        assert key.key_size == size
        signature = key.sign(b"text", PKCS1v15(), SHA256())
        key.public_key().verify(signature, b"text", PKCS1v15(), SHA256())


def test_no_key_is_given_twice_even_after_the_last() -> None:
    keys = PreparedRsaKeys()
    moduli = [_modulus(each) for each in islice(repeat(keys), _ALL + 1)]
    assert len(set(moduli)) == _ALL + 1


def _give(keys: PreparedRsaKeys, given: "multiprocessing.SimpleQueue[list[int]]") -> None:
    given.put([_modulus(keys) for _ in range(20)])


def test_processes_that_are_forked_share_the_keys() -> None:
    forks = multiprocessing.get_context("fork")
    keys, given = PreparedRsaKeys(), forks.SimpleQueue()
    processes = [forks.Process(target=_give, args=(keys, given)) for _ in range(3)]
    for each in processes:
        each.start()
    moduli = [modulus for _ in processes for modulus in given.get()]
    for each in processes:
        each.join()
    assert len(set(moduli)) == 60


def test_the_primes_make_keys_of_the_library() -> None:
    """The library itself accepts the pair, where it checks keys."""
    numbers = PreparedRsaKeys().generate(65537, 2048).private_numbers()
    assert isinstance(numbers.private_key(), rsa.RSAPrivateKey)
