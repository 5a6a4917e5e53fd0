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
