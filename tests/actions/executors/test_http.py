"""An executor goes to its origin, by its routes, and takes its credential nowhere else."""

from __future__ import annotations

import asyncio
import copy
import gzip
import json
import logging
import pickle
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from actions.executors.wire import Heard, Wire, command, opened, said, shown, tracked, wire
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st
from unabridged.actions.executing import Command
from unabridged.actions.executors import FromCallable, FromFile, HttpExecutor, RawAnswer, Route, Secret
from unabridged.actions.executors._paths import segment
from unabridged.actions.failures import ExecutorError
from unabridged.contract import InvalidInput
from unabridged.reading.pinned import announced_wait_s
from unabridged.testing import VirtualClock

SENTINEL = "SENTINEL-7f3a9c"
ARCHIVE = Route("POST", "/accounts/{target}/archive", body=["reason"])
KEYED = Route("POST", "/accounts/{target}/archive", body=["reason"], idempotency_header="Idempotency-Key")

Run = Callable[[HttpExecutor, Command], Any]


def _sync(executor: HttpExecutor, given: Command) -> Any:
    return executor.execute(given)


def _async(executor: HttpExecutor, given: Command) -> Any:
    return asyncio.run(executor.aexecute(given))


both = pytest.mark.parametrize("run", [_sync, _async])


def _executor(server: Wire | str, route: Route = ARCHIVE, **options: Any) -> HttpExecutor:
    origin = server if isinstance(server, str) else server.origin
    options.setdefault("credential", FromCallable(lambda: SENTINEL))
    return HttpExecutor(origin=origin, routes={"archive": route}, **options)


def _failure(run: Run, executor: HttpExecutor, given: Command | None = None) -> tuple[str, bool]:
    with pytest.raises(ExecutorError) as failed:
        run(executor, given or command())
    assert SENTINEL not in tracked(failed.value) + opened(failed.value)
    return failed.value.code, failed.value.may_have_happened


@both
def test_a_command_becomes_the_request_of_its_route(run: Run) -> None:
    route = Route(
        "PUT", "/v1/{target}:close", body={"why": "reason", "at": "day"}, query=["notify", "tags"],
        idempotency_header="Idempotency-Key",
    )  # fmt: skip
    with wire(said(200, {"state": "closed", "extra": 1})) as server:
        executor = _executor(server, route, headers={"X-Version": "2"})
        given = command(target="a b&c", reason="dup", day=None, notify=True, tags=["x y", "&z"])
        assert run(executor, given) == {"state": "closed", "extra": 1}
    (heard,) = server.heard
    assert heard.line == "PUT /v1/a%20b%26c:close?notify=true&tags=x+y&tags=%26z HTTP/1.1"
    assert json.loads(heard.body) == {"why": "dup", "at": None}
    assert heard.header("authorization") == [f"Bearer {SENTINEL}"]
    assert heard.header("idempotency-key") == ["ab" * 32]
    assert heard.header("x-version") == ["2"]
    assert heard.header("host") == [f"127.0.0.1:{server.port}"]


@both
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_each_method_is_sent_as_it_is_written(run: Run, method: Any) -> None:
    with wire(said(204)) as server:
        assert run(_executor(server, Route(method, "/a/{target}")), command()) is None
    assert server.heard[0].line == f"{method} /a/a-1 HTTP/1.1"


def test_a_credential_can_stand_alone_in_a_header_of_its_own() -> None:
    with wire() as server:
        _executor(server, Route("POST", "/x"), scheme=None, header="X-Api-Key").execute(command())
    assert server.heard[0].header("x-api-key") == [SENTINEL]
    assert server.heard[0].header("authorization") == []


@both
def test_one_request_can_take_all_targets(run: Run) -> None:
    route = Route("POST", "/x", body={"ids": "targets"})
    with wire() as server:
        executor = _executor(server, route, per_target=False)
        given = Command(action="archive", fields={}, targets=("a-1", "a-2"), idempotency_key="ab" * 32)
        assert run(executor, given) == {}
    assert not executor.per_target
    assert json.loads(server.heard[0].body) == {"ids": ["a-1", "a-2"]}


@both
def test_fields_that_have_no_place_stop_the_command_before_it_is_sent(run: Run) -> None:
    with wire() as server:
        executor = _executor(server)
        assert _failure(run, executor, command(reason="x", dry_run=True)) == ("internal", False)
        assert run(_executor(server, Route("POST", "/x", unused=["dry_run"])), command(dry_run=True)) == {}
        assert _failure(run, executor, command("another")) == ("internal", False)
        assert _failure(run, _executor(server, Route("POST", "/{case}")), command()) == ("internal", False)
        assert _failure(run, _executor(server, Route("GET", "/x", query=["q"])), command(q={"a": 1})) == (
            "internal",
            False,
        )
    assert len(server.heard) == 1


HOSTILE = ["", ".", "..", "...;/", "..;x", ". ", "a/b", "../x", "a\\b", "%2f", "%2e%2e", "x%2Fy", "a\r\nHost: evil",
           "\x00", "\u2025", "\uff0e\uff0e", "\uff0f", "\ud800", "a\u2028b", True, None,
           1.5, ["a"], {"a": 1}, "x" * 513]  # fmt: skip


@both
@pytest.mark.parametrize("value", HOSTILE, ids=ascii)
def test_a_value_that_a_server_could_read_as_another_path_is_never_sent(run: Run, value: Any) -> None:
    with wire() as server:
        assert _failure(run, _executor(server), command(target=value)) == ("internal", False)
    assert server.heard == []


@pytest.mark.parametrize("value", ["a..b", "..a", "?x=1", "#x", "50%", "a:b@c", "@evil", "ü", "a;b", "~", 7, "a b"])
def test_a_value_that_is_merely_odd_reaches_the_server_as_it_is(value: Any) -> None:
    with wire() as server:
        _executor(server, Route("POST", "/a/{target}/b")).execute(command(target=value))
    before, found, after = server.heard[0].target.strip("/").split("/")
    assert (before, unquote(found), after) == ("a", str(value), "b")
    assert "?" not in server.heard[0].target
    assert "#" not in server.heard[0].target


@given(st.one_of(st.text(), st.text(alphabet="./\\%2fFeE;?#@: \r\n\t\uff0e\uff0f"), st.integers()))
def test_no_value_leaves_its_segment(value: str | int) -> None:
    found = segment(value)
    if found is not None:
        assert found not in (".", "..", "")
        assert not set(found) & set("/\\?#@: \r\n\t;")
        once = unquote(found)
        assert once == str(value)
        # whoever decodes once or twice, and whoever strips path parameters, still sees one plain segment
        for seen in (once, unquote(once)):
            assert "/" not in seen
            assert "\\" not in seen
            assert seen.split(";")[0].strip() not in ("", ".", "..")
        parts = urlsplit(f"https://api.example.org/a/{found}/b")
        assert (parts.netloc, parts.path.count("/"), parts.query, parts.fragment) == ("api.example.org", 3, "", "")


def test_no_value_of_any_field_reaches_another_place_of_the_request() -> None:
    route = Route("POST", "/a/{target}/b", body=["reason"], query=["q"])
    with wire() as server:
        executor = _executor(server, route)

        @given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
        def sends(target: str, q: str, reason: str) -> None:
            del server.heard[:]
            try:
                executor.execute(command(target=target, q=q, reason=reason))
            except ExecutorError:
                assert server.heard == []
                return
            (heard,) = server.heard
            parts = urlsplit(heard.target)
            assert heard.line.startswith("POST /a/")
            assert len(parts.path.split("/")) == 4
            assert unquote(parts.path.split("/")[2]) == target
            assert parse_qsl(parts.query, keep_blank_values=True) == [("q", q)]
            assert json.loads(heard.body) == {"reason": reason}
            assert heard.header("host") == [f"127.0.0.1:{server.port}"]
            assert heard.header("authorization") == [f"Bearer {SENTINEL}"]

        sends()


ORIGINS = [
    "https://a@api.example.net", "https://a:b@api.example.net", "https://api.example.net/v1", "https://api.example.net?x",
    "https://api.example.net#x", "api.example.net", "//api.example.net", "ftp://api.example.net", "http://api.example.net",
    "https://", "https://api.example.net:99999", "https://api.example.net:0", "https://api.example.net:",
    "https://api.example.net\\@evil.org", "https://api.example.net evil.org", "https://bücher.example", "https://a..b",
    "https://[::1", "https://[fe80::1%25eth0]", "https://api.example.net//", "https://-a.org", "file:///etc/passwd",
    "http://127.0.0.1.evil.org", "http://localhost.evil.org", "https://api.example.net/?", "https://api.example.net\n",
]  # fmt: skip


@pytest.mark.parametrize("origin", ORIGINS)
def test_what_is_more_or_less_than_an_origin_is_refused(origin: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        _executor(origin)
    assert "example.net" not in f"{refused.value!r} {refused.value}"


@pytest.mark.parametrize(
    "origin", ["https://api.example.org", "https://API.example.org:443/", "https://[::1]:8443", "http://localhost:1",
               "http://[::1]", "https://my_service", "https://10.0.0.1"],
)  # fmt: skip
def test_an_origin_is_told_without_its_usual_port(origin: str) -> None:
    assert _executor(origin).origin in (origin, "https://api.example.org")


PATHS = ["", "a", "//evil.org", "/a//b", "/../a", "/a/./b", "/a?x=1", "/a#x", "/{a!r}", "/{a:>9}", "/{}", "/{0}",
         "/{a.b}", "/{a[0]}", "/{{a}}", "/a b", "/%2e%2e", "/{a", "https://evil.org/", "/ü"]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_what_is_no_template_of_a_path_is_refused(path: str) -> None:
    with pytest.raises(InvalidInput):
        Route("POST", path)


@pytest.mark.parametrize(
    "options",
    [
        {"headers": {"Host": "evil.org"}}, {"headers": {"authorization": "x"}}, {"headers": {"X": "a\r\nb"}},
        {"headers": {"Cookie": "x"}}, {"headers": {"X-Key": "x"}, "header": "x-key"}, {"header": "Host"},
        {"header": "Cookie"}, {"scheme": "Bearer x"}, {"scheme": ""}, {"timeout_s": 0}, {"attempts": 0},
        {"ca_file": "/no/such/file"}, {"ca_file": __file__},
        {"credential": SENTINEL}, {"credential": Secret(SENTINEL)},
    ],
    ids=repr,
)  # fmt: skip
def test_options_that_would_send_elsewhere_or_as_someone_else_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        _executor("https://api.example.org", **options)
    assert SENTINEL not in str(refused.value)


@pytest.mark.parametrize(
    "wrong", [{"method": "TRACE"}, {"method": "get"}, {"body": "reason"}, {"idempotency_header": "Host"},
              {"codes": {200: "x"}}, {"codes": {404: "Not A Code"}}],
    ids=repr,
)  # fmt: skip
def test_a_route_that_says_something_else_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Route(**{"method": "POST", "path": "/x", **wrong})


@both
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("where", ["/elsewhere", "http://127.0.0.1:{other}/x", "//127.0.0.1:{other}/x"])
def test_a_redirect_is_followed_nowhere_and_is_a_failure(run: Run, status: int, where: str) -> None:
    with wire() as other, wire(lambda _: said(status, location=where.format(other=other.port))) as server:
        code, may = _failure(run, _executor(server))
        assert code == "provider_rejected"
        assert may is (status in (301, 302, 303))
    assert len(server.heard) == 1
    assert other.heard == []


@both
@pytest.mark.parametrize(
    "header",
    ["refresh: 0; url=http://127.0.0.1:{other}/", "link: <http://127.0.0.1:{other}/>; rel=next", "set-cookie: a=b",
     "alt-svc: http/1.1=\"127.0.0.1:{other}\"", "content-location: http://127.0.0.1:{other}/"],
)  # fmt: skip
def test_nothing_that_a_provider_says_brings_the_credential_elsewhere(run: Run, header: str) -> None:
    with wire() as other:
        name, _, value = header.format(other=other.port).partition(": ")
        with wire(lambda _: said(200, {}, **{name.replace("-", "_"): value})) as server:
            executor = _executor(server)
            run(executor, command())
            run(executor, command())
        assert len(server.heard) == 2
        assert server.heard[1].header("cookie") == []
    assert other.heard == []


@both
def test_neither_a_proxy_nor_a_netrc_of_the_environment_counts(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with wire() as proxy, wire() as server:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, proxy.origin)
            monkeypatch.setenv(name.upper(), proxy.origin)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        netrc = tmp_path / "netrc"
        netrc.write_text("machine 127.0.0.1 login other password other\n")
        monkeypatch.setenv("NETRC", str(netrc))
        run(_executor(server, credential=None), command())
        run(_executor(server), command())
    assert proxy.heard == []
    assert [heard.header("authorization") for heard in server.heard] == [[], [f"Bearer {SENTINEL}"]]


@both
def test_a_server_without_a_certificate_that_is_trusted_gets_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, context = _certificate(tmp_path)
    with wire(tls=context) as server:
        origin = f"https://localhost:{server.port}"
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))  # the environment makes no authority
        assert _failure(run, _executor(origin)) == ("provider_retryable", False)
        wrong_name = f"https://127.0.0.1:{server.port}"
        assert _failure(run, _executor(wrong_name, ca_file=str(certificate))) == ("provider_retryable", False)
        assert server.heard == []
        assert run(_executor(origin, ca_file=str(certificate)), command()) == {}
    assert len(server.heard) == 1


def _certificate(folder: Path) -> tuple[Path, ssl.SSLContext]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate, secret = folder / "cert.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(Encoding.PEM))
    secret.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, secret)
    return certificate, context


STATUSES = [
    (400, "provider_rejected", False), (401, "provider_rejected", False), (403, "provider_rejected", False),
    (404, "reference_invalid", False), (410, "reference_invalid", False), (408, "provider_retryable", False),
    (409, "provider_rejected", False), (412, "target_changed", False), (429, "provider_retryable", False),
    (500, "provider_retryable", True), (501, "provider_rejected", False), (502, "provider_retryable", True),
    (503, "provider_retryable", True), (504, "provider_retryable", True), (599, "provider_retryable", True),
]  # fmt: skip


@both
@pytest.mark.parametrize(("status", "code", "may"), STATUSES)
def test_a_status_becomes_a_code_and_its_body_goes_to_the_hook_alone(
    run: Run, status: int, code: str, may: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    told: list[RawAnswer] = []
    answer, given = {"error": "no such person: Ada Canary"}, command(reason="Grace Canary")
    with wire(said(status, answer)) as server:
        executor = _executor(server, diagnostics=told.append)
        with pytest.raises(ExecutorError) as failed:
            run(executor, given)
    assert (failed.value.code, failed.value.may_have_happened) == (code, may)
    assert (told[0].status, told[0].code, json.loads(told[0].body)) == (status, code, answer)
    everything = tracked(failed.value) + caplog.text + repr(told)
    assert not [word for word in ("Canary", SENTINEL) if word in everything]
    assert f"unabridged: HTTP {status}" in caplog.messages, "no write is told as a read"
    assert not any("a read" in message for message in caplog.messages)
    assert len(server.heard) == 1


@both
def test_a_route_that_only_reads_has_no_effect_and_may_name_codes_of_its_own(run: Run) -> None:
    with wire(said(500)) as server:
        assert _failure(run, _executor(server, Route("GET", "/x"))) == ("provider_retryable", False)
    with wire(said(409)) as server:
        taken = Route("POST", "/x", codes={409: "already_archived"})
        assert _failure(run, _executor(server, taken)) == ("already_archived", False)


@both
def test_a_hook_that_fails_changes_nothing(run: Run) -> None:
    def hook(_: RawAnswer) -> None:
        raise RuntimeError(SENTINEL)

    with wire(said(404, {})) as server:
        assert _failure(run, _executor(server, diagnostics=hook)) == ("reference_invalid", False)


BROKEN = {
    "no answer": (b"", "provider_retryable"),
    "half a head": (b"HTTP/1.1 200 OK\r\ncontent-", "provider_retryable"),
    "half a body": (b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{}", "provider_invalid_response"),
    "no json": (b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nCanary", "provider_invalid_response"),
    "deep json": (b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" + b"[" * 3_000, "provider_invalid_response"),
    "too long": (b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n" + b" " * 5_000, "provider_invalid_response"),
    "a bomb": (
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n" + gzip.compress(b" " * 9_999),
        "provider_invalid_response",
    ),
}


@both
@pytest.mark.parametrize("kind", BROKEN)
def test_of_a_write_whose_answer_cannot_be_read_nobody_knows_and_it_is_not_sent_again(run: Run, kind: str) -> None:
    answer, code = BROKEN[kind]
    with wire(lambda _: answer) as server:
        assert _failure(run, _executor(server, KEYED, max_bytes=4_096)) == (code, True)
    assert len(server.heard) == 1


@both
def test_a_provider_that_does_not_answer_in_time_leaves_it_unknown(run: Run) -> None:
    over = threading.Event()

    def waits(_: Heard) -> bytes:
        over.wait(60)
        return said(200, {})

    with wire(waits) as server:
        assert _failure(run, _executor(server, KEYED, timeout_s=0.5)) == ("timeout", True)
        over.set()
    assert len(server.heard) == 1


@both
def test_an_origin_that_is_not_there_was_sent_nothing(run: Run) -> None:
    with wire() as server:
        pass
    assert _failure(run, _executor(server, KEYED)) == ("provider_retryable", False)


@both
@pytest.mark.parametrize(("status", "wait"), [(429, "7"), (503, "7"), (429, None)])
def test_only_a_route_with_a_key_is_tried_again_and_with_the_same_key(run: Run, status: int, wait: str | None) -> None:
    clock = VirtualClock()
    headers = {} if wait is None else {"retry_after": wait}
    with wire(lambda heard: said(status, **headers) if heard.number < 2 else said(200, {"done": 1})) as server:
        before = clock.monotonic()
        assert run(_executor(server, KEYED, clock=clock), command()) == {"done": 1}
        waited = clock.monotonic() - before
    assert {heard.header("idempotency-key")[0] for heard in server.heard} == {"ab" * 32}
    assert len(server.heard) == 3
    assert waited == 14 if wait else 0 < waited < 10
    with wire(said(status, **headers)) as server:
        code, _ = _failure(run, _executor(server, ARCHIVE, clock=clock))
        assert code == "provider_retryable"
        assert len(server.heard) == 1


@both
def test_attempts_end_by_their_number_and_by_the_time_of_the_command(run: Run) -> None:
    with wire(said(429, retry_after="1")) as server:
        assert _failure(run, _executor(server, KEYED, attempts=2, clock=VirtualClock())) == (
            "provider_retryable",
            False,
        )
        assert len(server.heard) == 2
    with wire(said(429, retry_after="31")) as server:
        assert _failure(run, _executor(server, KEYED, clock=VirtualClock())) == ("provider_retryable", False)
        assert len(server.heard) == 1


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0.0), ("120", 120.0), ("Mon, 30 Nov 2026 12:00:30 GMT", 30.0), ("Mon, 30 Nov 2026 11:00:00 GMT", 0.0),
     ("-1", None), ("soon", None), ("", None), ("9" * 40, 86_400.0), ("\u0661", None)],
)  # fmt: skip
def test_a_wait_is_read_as_seconds_or_as_a_date(text: str, seconds: float | None) -> None:
    now = datetime(2026, 11, 30, 12, tzinfo=UTC)
    assert announced_wait_s((("Retry-After", text),), now=now) == seconds


@both
def test_without_its_credential_nothing_is_sent_and_the_operator_learns_the_rule(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Vault:
        def take(self) -> Secret:
            raise RuntimeError(SENTINEL)

    with wire() as server:
        for credential in (FromFile(tmp_path / "none"), Vault(), FromCallable(lambda: f"{SENTINEL}\r\nHost: evil")):
            assert _failure(run, _executor(server, credential=credential)) == ("internal", False)
    assert server.heard == []
    assert "its file cannot be opened" in caplog.text
    assert SENTINEL not in caplog.text


def test_a_credential_is_asked_for_after_the_command_was_checked() -> None:
    asked: list[int] = []

    def vault() -> str:
        asked.append(1)
        return SENTINEL

    with wire() as server:
        executor = _executor(server, credential=FromCallable(vault))
        for wrong in (command(target=".."), command("other"), command(dry_run=True)):
            assert _failure(_sync, executor, wrong) == ("internal", False)
        assert asked == []
        executor.execute(command())
        executor.execute(command())
    assert asked == [1, 1]


@pytest.mark.parametrize("header", ["Authorization", "X-Api-Key"])
def test_an_interruption_in_the_midst_shows_no_frame_that_holds_the_credential(
    header: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    over, begun = threading.Event(), threading.Event()

    def waits(_: Heard) -> bytes:
        begun.set()
        over.wait(60)
        return said(200, {})

    async def cancelled(executor: HttpExecutor) -> str:
        task = asyncio.create_task(executor.aexecute(command(reason="Canary")))
        await asyncio.to_thread(begun.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as ended:
            await task
        assert SENTINEL not in opened(ended.value)
        return tracked(ended.value)

    with wire(waits) as server:
        seen = asyncio.run(cancelled(_executor(server, header=header)))
        over.set()
    assert server.heard[0].header(header)
    assert SENTINEL not in seen + caplog.text
    assert "Canary" not in seen + caplog.text


@both
def test_a_fault_of_the_client_shows_no_frame_that_holds_the_credential(run: Run) -> None:
    """The server answers so that the client fails in the midst; every way out is searched for the credential."""
    for answer in (b"HTTP/9.9 abc\r\n\r\n", b"\x00" * 64, b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"):
        with wire(lambda _, answer=answer: answer) as server:
            code, may = _failure(run, _executor(server, header="X-Api-Key", scheme=None))
            assert (code, may) == ("provider_retryable", True)


def test_an_executor_shows_its_origin_and_nothing_else() -> None:
    executor = _executor("https://api.example.org", headers={"X-Tenant": "Canary"})
    assert repr(executor) == "<HttpExecutor https://api.example.org>"
    assert SENTINEL not in shown(executor)
    assert copy.deepcopy(executor) is executor
    with pytest.raises(InvalidInput):
        pickle.dumps(executor)


def test_an_executor_is_idempotent_when_each_route_carries_the_key_or_only_reads() -> None:
    def of(*routes: Route) -> bool:
        named = {f"r{n}": route for n, route in enumerate(routes)}
        return HttpExecutor(origin="https://a.org", routes=named).idempotent

    assert of(KEYED)
    assert of(KEYED, Route("GET", "/x"))
    assert not of(KEYED, ARCHIVE)


def test_commands_of_many_threads_do_not_mix() -> None:
    with wire(lambda heard: said(200, {"path": heard.target})) as server:
        executor = _executor(server)
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda n: executor.execute(command(target=n)), range(40)))
    assert [f["path"] for f in found] == [f"/accounts/{n}/archive" for n in range(40)]
