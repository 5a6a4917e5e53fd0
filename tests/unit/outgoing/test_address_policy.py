"""Which addresses URLs of clients may lead to. attacks C21; Spec: RFC 6890 §2.2.2."""

from ipaddress import ip_network

import pytest

from gateway.outgoing import AddressPolicy


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1"),
        *("169.254.169.254", "100.64.0.1", "100.100.100.200", "192.0.0.192", "198.18.0.1"),
        *("192.0.2.1", "198.51.100.1", "203.0.113.1", "192.88.99.1", "224.0.0.1", "240.0.0.1"),
        *("255.255.255.255", "::", "::1", "fe80::1", "fe80::1%lo", "fec0::1", "fc00::1"),
        *("fd00:ec2::254", "ff02::1", "2001:db8::1", "100::1", "::ffff:127.0.0.1", "::127.0.0.1"),
        *("::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1"),
        *("2002:7f00:1::", "2001:0:7f00:1::", "localhost", "", "1.2.3", "2130706433"),
    ],
)
def test_an_address_of_no_public_network_is_refused(address: str) -> None:
    assert not AddressPolicy().permits(address)


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]
)
def test_a_public_address_is_allowed(address: str) -> None:
    assert AddressPolicy().permits(address)


def test_networks_of_the_operator_are_allowed_and_no_others() -> None:
    policy = AddressPolicy((ip_network("10.1.0.0/16"), ip_network("fd00:1::/32")))
    allowed = ["10.1.2.3", "::ffff:10.1.2.3", "fd00:1::5", "1.1.1.1"]
    refused = ["10.2.0.1", "::ffff:10.2.0.1", "fd00:2::5", "127.0.0.1", "169.254.169.254"]
    assert [policy.permits(each) for each in allowed + refused] == [True] * 4 + [False] * 5


_SPECIAL = {
    False: (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
        *("172.16.0.0/12", "192.0.0.0/24", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.170/31"),
        *("192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
        *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        *("::/127", "64:ff9b:1::/48", "100::/63", "2001::/23", "2001:1::1/128", "2001:3::/32"),
        *("2001:4:112::/48", "2001:20::/28", "2001:30::/28", "2001:db8::/32"),
        *("2002:101:101::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10"),
        *("ff00::/8", "::ffff:10.0.0.0/104", "64:ff9b::a00:0/104"),
    ),
    True: (
        *("1.1.1.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.175.48.0/24"),
        *("2606:4700::/32", "2620:4f:8000::/48", "::ffff:1.1.1.0/120", "64:ff9b::101:100/120"),
    ),
}
"""Source: IANA's registries of special-purpose addresses (RFC 6890)."""


def test_special_networks_are_those_of_every_python() -> None:
    """`is_global` of the library changed in Python 3.12.4, 3.13.0 and 3.13.4."""
    found = {
        (text, str(address)): AddressPolicy().permits(str(address))
        for texts in _SPECIAL.values()
        for text in texts
        for network in [ip_network(text)]
        for address in {network[0], network[network.num_addresses // 2], network[-1]}
    }
    wrong = [key for key, permitted in found.items() if key[0] not in _SPECIAL[permitted]]
    assert wrong == []
