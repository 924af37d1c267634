"""Webhooks: signatures as the standard has them, addresses that are never called, and growing delays."""

from datetime import UTC, datetime
from ipaddress import ip_address, ip_network

import pytest

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.webhook import (
    LONGEST_DELAY_SECONDS,
    MAX_ATTEMPTS,
    checked_url,
    delay,
    is_allowed,
    literal_address,
    require_allowed_url,
    retry_after,
    signatures,
)

INNER = [
    "127.0.0.1",
    "127.8.9.10",
    "0.0.0.0",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "fe80::1",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "2001:0:7f00:1::1",
]
FORMS = ["2130706433", "0x7f000001", "0x7f.1", "127.1", "0177.0.0.1", "[::1]", "[::ffff:7f00:1]", "[::ffff:127.0.0.1]"]


def test_the_signature_is_that_of_the_standard() -> None:
    """The expected value is of `openssl dgst -sha256 -mac HMAC`."""
    secret, body = "whsec_MfKQ9r8GKYqTwjUPD8ILPZIo2LaLaSw=", b'{"test": 2432232314}'
    other, message = "whsec_" + "A" * 43 + "=", ("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert signatures([secret], *message) == "v1,APzAMjTmGJD1CHe1l3psPWqHBNm7LdzUn7zexTcoEpk="
    assert signatures([other, secret], *message).split(" ") == [signatures([one], *message) for one in (other, secret)]


@pytest.mark.parametrize("address", INNER)
def test_inner_addresses_are_not_called(address: str) -> None:
    assert not is_allowed(ip_address(address), [], encrypted=True)


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700::1111", "64:ff9b::101:101", "::ffff:1.1.1.1"])
def test_public_addresses_are_called_over_tls_only(address: str) -> None:
    assert is_allowed(ip_address(address), [], encrypted=True)
    assert not is_allowed(ip_address(address), [], encrypted=False)


def test_allowed_networks_are_called_in_every_form() -> None:
    networks = [ip_network("127.0.0.0/8")]
    for address in ("127.0.0.1", "::ffff:127.0.0.1"):
        assert is_allowed(ip_address(address), networks, encrypted=False)
    assert not is_allowed(ip_address("10.0.0.1"), networks, encrypted=True)


@pytest.mark.parametrize("host", FORMS)
def test_each_form_of_an_inner_address_is_refused_at_once(host: str) -> None:
    assert literal_address(host.strip("[]")) is not None
    with pytest.raises(InvalidInput, match="not a public address") as refused:
        require_allowed_url(checked_url(f"https://{host}:8443/x"), [])
    assert refused.value.field == "url"


def test_http_takes_an_allowed_network() -> None:
    with pytest.raises(InvalidInput, match="not encrypted"):
        require_allowed_url("http://example.com/x", [])
    require_allowed_url("https://example.com/x", [])
    require_allowed_url("http://127.0.0.1/x", [ip_network("127.0.0.1/32")])


@pytest.mark.parametrize(
    "url",
    [
        *("", "x", 7, "ftp://a.example/", "https://", "https:///x", "https://a:b@c.example/", "https://a.example/#x"),
        *("https://a.example/ x", "https://é.example/", "https://a.example:0/", "https://a.example:x/"),
        *("https://a.example/" + "x" * 2000, "https://[::1", "https://a.example\\@b.example/"),
        "HTTPS://a.example/",
    ],
)
def test_what_is_no_url_is_refused(url: object) -> None:
    with pytest.raises(InvalidInput):
        checked_url(url)


def test_delays_double_up_to_an_hour_and_last_about_a_day() -> None:
    longest = [delay(attempt, 1.0) for attempt in range(1, MAX_ATTEMPTS)]
    assert longest[:4] == [1, 2, 4, 8]
    assert max(longest) == LONGEST_DELAY_SECONDS
    assert 20 < sum(longest) / 3600 < 26
    assert delay(5, 0.0) == delay(5, 1.0) / 2


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120),
        (" 7 ", 7),
        ("Tue, 24 Nov 2026 12:02:00 GMT", 120),
        ("Tue, 24 Nov 2026 13:02:00 +0100", 120),
        ("Tue, 24 Nov 2026 11:00:00 GMT", 0),
        ("86400", LONGEST_DELAY_SECONDS),
        ("9" * 5000, LONGEST_DELAY_SECONDS),
        ("Fri, 31 Dec 9999 23:59:59 GMT", LONGEST_DELAY_SECONDS),
        ("", 0),
        ("-5", 0),
        ("1.5", 0),
        ("soon", 0),
        ("٣", 0),
        ("Tue, 24 Nov 99999999999999999999 12:00:00 GMT", 0),
    ],
)
def test_a_receiver_may_ask_for_an_hour_at_most(header: str, seconds: float) -> None:
    assert retry_after(header, datetime(2026, 11, 24, 12, tzinfo=UTC)) == seconds
