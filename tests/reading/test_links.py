"""The `Link` header after RFC 8288, and which addresses a read accepts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unabridged.contract import InvalidInput
from unabridged.reading.links import MalformedLink, absolute, check_url, origin, parse_link_header, targets_of

HERE = "https://api.example/r?p=1"


def targets(header: str, *, rel: str = "next", live_flag: str | None = None) -> tuple[str, ...]:
    return targets_of(parse_link_header(header), rel=rel, context=HERE, live_flag=live_flag)


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ('</r?p=2>; rel="next"', "/r?p=2"),
        ("</r?p=2>; rel=next", "/r?p=2"),
        ('</r?p=2>; REL="NeXt"', "/r?p=2"),
        ('</r?p=2>; rel="last next"', "/r?p=2"),
        ('</a>; rel=prev, </r?p=2>; title="a, <b>; c"; rel="next"', "/r?p=2"),
        ('</r?ids=1,2;v=3>; rel="next"', "/r?ids=1,2;v=3"),
        ('</r?p=2> ; rel = "next"', "/r?p=2"),
        (", ,</r?p=2>; rel=next , ", "/r?p=2"),
        ("</r?p=2>; rel=\"next\"; title*=UTF-8''%e2%82%ac", "/r?p=2"),
        ('</r?p=2>; rel="next"; rel="prev"', "/r?p=2"),
        ('</r?p=2>; rel="next"; anchor="/r?p=1"', "/r?p=2"),
        ('</r?p=2>; rel="next"; flag', "/r?p=2"),
        ('<?p=2>; rel="next"', "/r?p=2"),
    ],
)
def test_a_link_of_the_grammar_is_found(header: str, found: str) -> None:
    assert targets(header) == (f"https://api.example{found}",)


@pytest.mark.parametrize(
    "header",
    [
        "", " ", ",", '</a>; rel="prev"', "</a>", '</a>; rel="nextish"', '</a>; title="rel=next"',
        '</a>; rel="next"; anchor="/other"', '</a>; rel="prev"; rel="next"',
    ],
)  # fmt: skip
def test_a_header_without_the_relation_leads_nowhere(header: str) -> None:
    assert targets(header) == ()


@pytest.mark.parametrize(
    "header",
    [
        '</r?p=2>; rel="next', '/r?p=2; rel="next"', "<>x", "</a>; rel=next;", "</a> rel=next", "</a b>; rel=next",
        "</a>; rel=a b", '</a>; rel="next" </b>', "<a", "</a>; =x", '</a>; rel="\x01"', "</a%zz>; rel=next",
        '</a>; rel="next"; "x"', "</a>;; rel=next", "</a\u00e9>; rel=next",
    ],
)  # fmt: skip
def test_a_header_outside_the_grammar_is_malformed(header: str) -> None:
    with pytest.raises(MalformedLink):
        parse_link_header(header)


@given(st.text(alphabet='<>/ab;,="\\ \trel\u00e9', max_size=40) | st.text(max_size=40))
def test_no_text_breaks_the_parser(header: str) -> None:
    try:
        links = parse_link_header(header)
    except MalformedLink:
        return
    assert all(isinstance(link.target, str) for link in links)


def test_a_long_header_is_parsed_in_linear_time() -> None:
    header = ", ".join(f'</r?p={n}>; rel="x{n}"; title="{"a" * 50}"' for n in range(3000))
    assert len(parse_link_header(header)) == 3000
    with pytest.raises(MalformedLink):
        parse_link_header('</a>; title="' + "a" * 200_000)


def test_a_link_whose_flag_is_false_leads_nowhere() -> None:
    assert targets('</a>; rel="next"; results="false"', live_flag="results") == ()
    assert targets('</a>; rel="next"; results="true"', live_flag="results") == ("https://api.example/a",)
    assert targets('</a>; rel="next"', live_flag="results") == ("https://api.example/a",)


def test_two_links_to_one_target_are_one() -> None:
    assert len(targets("</a>; rel=next, </a#x>; rel=next")) == 1
    assert len(targets("</a>; rel=next, </b>; rel=next")) == 2


@pytest.mark.parametrize(
    "target",
    ["ftp://api.example/", "https://user:pass@api.example/", "javascript:alert(1)", "https://", "http://[::1",
     "/a b", "/a\n", "https://h:99999/", "\\\\evil", "/\ud800"],
)  # fmt: skip
def test_a_target_that_is_no_http_address_is_malformed(target: str) -> None:
    with pytest.raises(MalformedLink):
        absolute(target, context=HERE)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("https://a.example/x", "https://A.example:443/y", True),
        ("http://a.example/", "http://a.example:80/", True),
        ("http://a.example/", "https://a.example/", False),
        ("https://a.example/", "https://a.example:8443/", False),
        ("https://a.example/", "https://a.example.evil.test/", False),
        ("https://a.example/", "https://b.example/", False),
    ],
)
def test_an_origin_is_scheme_host_and_port(left: str, right: str, same: bool) -> None:
    assert (origin(left) == origin(right)) is same


@pytest.mark.parametrize(
    "url",
    [None, 7, "", "things", "/things", "ftp://a.example/", "https://", "https:///x", "https://a b/", "http://a:0/",
     "http://a:x/", "https://user:canary@a.example/", "https://a.example/\n", "https://a.example/\ud800", "http://[::1"],
)  # fmt: skip
def test_a_url_that_is_none_is_refused_without_it(url: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_url(url)
    assert caught.value.field == "url"
    assert "canary" not in str(caught.value)
