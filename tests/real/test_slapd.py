"""OpenLDAP: limits that arrive after the entries, cookies that live on one connection, and entries nobody mentions."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ldap3
import pytest
from real.servers import free_port, served
from unabridged import Budget, Query, session
from unabridged.contract import InvalidInput, resume_of
from unabridged.sources.ldap import read_ldap

pytestmark = pytest.mark.real

PEOPLE = "ou=p,dc=x"
VISIBLE, HIDDEN = 60, 10
CONF = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {folder}/pid
idletimeout 0
database mdb
suffix "dc=x"
rootdn "cn=admin,dc=x"
rootpw secret
directory {folder}/db
limits dn.exact="uid=u1,ou=p,dc=x" size.soft=5 size.hard=20 size.pr=4 size.prtotal=10 size.unchecked=unlimited
limits dn.exact="uid=u2,ou=p,dc=x" size.unchecked=5
access to dn.regex="^uid=h[0-9]+,ou=p,dc=x$" by * none
access to dn.subtree="ou=closed,dc=x" by users disclose by * none
access to attrs=userPassword by anonymous auth by * none
access to * by * read
"""


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder: Path = tmp_path_factory.mktemp("slapd")
    (folder / "db").mkdir()
    (folder / "slapd.conf").write_text(CONF.format(folder=folder))
    found = free_port()
    command = ["/usr/sbin/slapd", "-h", f"ldap://127.0.0.1:{found}/", "-f", folder / "slapd.conf", "-d", "none"]
    with served(command, port=found, folder=folder):
        admin = bound(found, "cn=admin,dc=x", "secret")
        admin.add("dc=x", ["domain"], {"dc": "x"})
        admin.add(PEOPLE, ["organizationalUnit"], {"ou": "p"})
        admin.add("ou=none,dc=x", ["organizationalUnit"], {"ou": "none"})
        admin.add("ou=closed,dc=x", ["organizationalUnit"], {"ou": "closed"})
        for name in [f"u{n}" for n in range(VISIBLE)] + [f"h{n}" for n in range(HIDDEN)]:
            person(admin, name)
        admin.add("ou=away,dc=x", ["referral", "extensibleObject"], {"ou": "away", "ref": "ldap://other.example/dc=y"})
        admin.unbind()
        yield found


def bound(port: int, user: str | None = None, password: str | None = None, **options: Any) -> ldap3.Connection:
    server = ldap3.Server("127.0.0.1", port=port, get_info=ldap3.NONE, connect_timeout=60)
    connection = ldap3.Connection(server, user, password, receive_timeout=60, **options)
    assert connection.bind()
    return connection


def person(admin: ldap3.Connection, name: str) -> None:
    values = {"cn": name, "sn": name, "uid": name, "mail": [f"{name}@x", f"{name}@y"], "userPassword": "pw"}
    assert admin.add(f"uid={name},{PEOPLE}", ["inetOrgPerson"], values)


@pytest.fixture
def anyone(port: int) -> Iterator[ldap3.Connection]:
    connection = bound(port)
    yield connection
    connection.unbind()


def keys(result: Any) -> list[str]:
    return [reason.key for reason in result.reasons]


def names(result: Any) -> set[str]:
    return {item["uid"] for item in result.items}


def people(connection: ldap3.Connection, *, page_size: int = 25, **options: Any) -> Any:
    query = Query("people", page_size=page_size)
    return read_ldap(connection, PEOPLE, "(uid=*)", resource=query, single=["uid"], **options)


@pytest.mark.parametrize("strategy", ["SYNC", "SAFE_SYNC", "RESTARTABLE"])
def test_a_complete_read_follows_every_cookie_and_speaks_of_what_the_caller_sees(port: int, strategy: str) -> None:
    connection = bound(port, client_strategy=strategy)
    with session(f"complete {strategy}") as s:
        result = people(connection, attributes=["uid", "mail"])
    connection.unbind()
    assert (result.status, keys(result), result.read.pages) == ("complete", [], 3)
    assert names(result) == {f"u{n}" for n in range(VISIBLE)}  # the ten hidden ones are missing, and nothing says so
    assert (result.scope.visibility, result.consistency, result.proof.level) == ("caller", "interval", "end_marker")
    assert result.items[0] == {"dn": f"uid=u0,{PEOPLE}", "uid": "u0", "mail": ["u0@x", "u0@y"]}
    assert [read.id for read in s.reads] == [result.read.id]


def test_an_empty_branch_is_empty_and_complete_and_one_that_does_not_exist_is_unavailable(
    anyone: ldap3.Connection,
) -> None:
    empty = read_ldap(anyone, "ou=none,dc=x", "(uid=*)", resource="people")
    nowhere = read_ldap(anyone, "ou=nowhere,dc=x", "(uid=*)", resource="people")
    assert (empty.status, empty.items) == ("complete", [])
    assert (nowhere.status, nowhere.items, keys(nowhere)) == ("unavailable", None, ["SOURCE_UNAVAILABLE:status"])


@pytest.mark.parametrize("raises", [False, True])
def test_entries_that_came_before_the_servers_size_limit_are_kept(port: int, raises: bool) -> None:
    connection = bound(port, f"uid=u1,{PEOPLE}", "pw", raise_exceptions=raises)
    result = people(connection, page_size=4)
    connection.unbind()
    assert (result.status, keys(result)) == ("partial", ["RESULT_LIMIT_REACHED:size_limit"])
    assert (len(result.items), result.truncated, result.finding_count) == (10, True, None)
    assert result.continuation.kind == "narrow_query"


@pytest.mark.parametrize("raises", [False, True])
def test_a_limit_that_let_nothing_through_is_partial_and_empty(port: int, raises: bool) -> None:
    connection = bound(port, f"uid=u2,{PEOPLE}", "pw", raise_exceptions=raises)
    result = people(connection)
    connection.unbind()
    assert (result.status, result.items, keys(result)) == ("partial", [], ["RESULT_LIMIT_REACHED:admin_limit"])
    assert not result.proves_absence()


def test_a_cookie_that_goes_to_another_connection_has_expired(port: int) -> None:
    connection = bound(port)
    first = people(connection, budget=Budget(max_pages=1))
    assert (first.status, first.continuation.kind, len(first.items)) == ("partial", "next_page", 25)
    rest = resume_of(first).read(budget=Budget())
    assert (rest.status, len(rest.items)) == ("complete", VISIBLE - 25)
    connection.unbind()
    connection.bind()  # the same object, a new connection
    late = resume_of(first).read(budget=Budget())
    connection.unbind()
    assert (late.status, keys(late)) == ("unavailable", ["CONTINUATION_EXPIRED"])
    assert late.continuation.kind == "restart_scan"


def test_a_referral_is_a_source_that_was_not_read(anyone: ldap3.Connection) -> None:
    result = read_ldap(anyone, "dc=x", "(objectClass=organizationalUnit)", resource="units")
    assert (result.status, keys(result)) == ("partial", ["SOURCE_UNAVAILABLE:referral"])
    assert {source.name: source.status for source in result.sources}["other.example"] == "unavailable"
    assert len(result.items) == 2
    away = read_ldap(anyone, "ou=away,dc=x", resource="units")
    assert (away.status, away.items, keys(away)) == ("partial", [], ["SOURCE_UNAVAILABLE:referral"])


def test_a_branch_that_the_caller_may_not_see_is_no_empty_list(port: int, anyone: ldap3.Connection) -> None:
    result = read_ldap(anyone, "ou=closed,dc=x", resource="units")
    assert (result.status, result.items) == ("unavailable", None)
    connection = bound(port, f"uid=u3,{PEOPLE}", "pw")
    closed = read_ldap(connection, "ou=closed,dc=x", resource="units", scope="base")
    connection.unbind()
    assert (closed.status, closed.items, keys(closed)) == ("unavailable", None, ["VISIBILITY_RESTRICTED:forbidden"])


def test_a_read_while_another_session_adds_and_deletes_is_an_interval_and_loses_no_entry_that_stayed(
    port: int,
) -> None:
    connection, admin = bound(port), bound(port, "cn=admin,dc=x", "secret")
    first = people(connection, page_size=10, budget=Budget(max_pages=2))
    for n in (3, 40, 41):
        admin.delete(f"uid=u{n},{PEOPLE}")
    for n in (90, 91):
        person(admin, f"u{n}")
    person(admin, "u3")  # reordered: deleted and added at the end
    rest = resume_of(first).read(budget=Budget())
    for n in (40, 41):
        person(admin, f"u{n}")
    for n in (90, 91):
        admin.delete(f"uid=u{n},{PEOPLE}")
    connection.unbind()
    admin.unbind()
    assert len(names(first)) == 20
    assert names(first) | names(rest) >= {f"u{n}" for n in range(VISIBLE)} - {"u3", "u40", "u41"}
    assert (rest.status, keys(rest)) == ("partial", ["CONSISTENCY_LOST:duplicate_ids"])  # u3 came twice
    assert rest.consistency == "not_established"


def test_a_server_that_is_gone_is_unavailable_and_never_an_empty_list(port: int) -> None:
    connection = bound(port)
    connection.strategy.close()
    result = people(connection, budget=Budget(max_retries=0))
    assert (result.status, result.items, keys(result)) == ("unavailable", None, ["SOURCE_UNAVAILABLE:disconnect"])


def test_arguments_are_refused_without_their_values(anyone: ldap3.Connection) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_ldap(anyone, PEOPLE, "(((sk_live_secret", resource="people")
    assert "sk_live_secret" not in str(refused.value)
    assert refused.value.__context__ is None
    with pytest.raises(InvalidInput, match="synchronous"):
        read_ldap(object(), PEOPLE, resource="people")


def test_a_search_that_outlasts_its_time_at_the_server_keeps_what_came(tmp_path: Path) -> None:
    many = 40_000
    (tmp_path / "db").mkdir()
    conf = tmp_path / "slapd.conf"
    conf.write_text(CONF.format(folder=tmp_path).replace("rootpw", "sizelimit unlimited\nmaxsize 1073741824\nrootpw"))
    entries = ["dn: dc=x\nobjectClass: domain\ndc: x\n"]
    entries += [f"dn: cn=d{n},dc=x\nobjectClass: device\ncn: d{n}\n" for n in range(many)]
    (tmp_path / "ldif").write_text("\n".join(entries))
    load = ["/usr/sbin/slapadd", "-q", "-f", conf, "-l", tmp_path / "ldif"]
    subprocess.run([str(part) for part in load], check=True, capture_output=True, timeout=300)
    found = free_port()
    command = ["/usr/sbin/slapd", "-h", f"ldap://127.0.0.1:{found}/", "-f", conf, "-d", "none"]
    with served(command, port=found, folder=tmp_path) as server:
        connection = bound(found, collect_usage=True)
        before = connection.usage.messages_received

        def pause() -> None:
            """Holds the server for longer than its limit as soon as the first entries are here."""
            while connection.usage.messages_received == before:
                time.sleep(0.001)
            os.kill(server.pid, signal.SIGSTOP)
            time.sleep(2.2)
            os.kill(server.pid, signal.SIGCONT)

        pausing = threading.Thread(target=pause, daemon=True)
        pausing.start()
        query = Query("devices", page_size=many * 2)
        result = read_ldap(connection, "dc=x", "(objectClass=device)", resource=query, budget=Budget(max_seconds=1))
        pausing.join(timeout=60)
        connection.unbind()
    assert (result.status, keys(result)) == ("partial", ["TIME_BUDGET_EXCEEDED:time_limit"])
    assert 0 < len(result.items) < many
    assert result.continuation.kind == "retry_with_deadline"
