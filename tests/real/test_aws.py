"""AWS as moto and dynalite play it: empty pages with a key, a key on the last full page, tokens that nobody knows."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.client import BaseClient
from botocore.config import Config
from real.servers import free_port, served
from unabridged import Budget, Query, session
from unabridged.contract import resume_of
from unabridged.sources.aws import read_aws

pytestmark = pytest.mark.real

DYNALITE = Path(__file__).parent / "node_modules" / "dynalite" / "cli.js"


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    port = free_port()
    script = "from moto.server import main; import sys; main(sys.argv[1:])"
    command = [sys.executable, "-c", script, "-H", "127.0.0.1", "-p", str(port)]
    with served(command, port=port, folder=tmp_path_factory.mktemp("moto")):
        yield port


@pytest.fixture(scope="module")
def dynalite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    port = free_port()
    command = ["node", DYNALITE, "--port", str(port), "--host", "127.0.0.1", "--createTableMs", "0"]
    with served(command, port=port, folder=tmp_path_factory.mktemp("dynalite")):
        yield port


def client(service: str, port: int) -> BaseClient:
    return boto3.client(
        service, endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1",
        aws_access_key_id="a", aws_secret_access_key="b",
        config=Config(retries={"max_attempts": 0}, connect_timeout=60, read_timeout=60),
    )  # fmt: skip


def keys(result: Any) -> list[str]:
    return [reason.key for reason in result.reasons]


def table(found: BaseClient, name: str, rows: int, *, key: str = "k") -> None:
    found.create_table(
        TableName=name, KeySchema=[{"AttributeName": key, "KeyType": "HASH"}], BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
    )  # fmt: skip
    while found.describe_table(TableName=name)["Table"]["TableStatus"] != "ACTIVE":
        time.sleep(0.02)
    for n in range(rows):
        found.put_item(TableName=name, Item={"k": {"S": f"k{n:02}"}, "n": {"N": str(n)}})


def scan(found: BaseClient, name: str, *, budget: Budget | None = None, **params: Any) -> Any:
    return read_aws(
        found, "scan", resource=Query("rows", page_size=10), items="Items", id="k.S",
        params={"TableName": name, **params}, budget=budget,
    )  # fmt: skip


@pytest.fixture(scope="module", params=["moto", "dynalite"])
def dynamo(request: pytest.FixtureRequest) -> BaseClient:
    found = client("dynamodb", request.getfixturevalue(request.param))
    table(found, "rows", 30)
    table(found, "empty", 0)
    return found


def test_a_scan_is_read_over_every_key(dynamo: BaseClient) -> None:
    with session(f"scan {dynamo.meta.endpoint_url}") as s:
        result = scan(dynamo, "rows")
    assert (result.status, keys(result), len(result.ids)) == ("complete", [], 30)
    assert (result.consistency, result.proof.level, result.scope.visibility) == ("interval", "end_marker", "caller")
    assert [read.id for read in s.reads] == [result.read.id]
    assert [warning.code for warning in result.warnings] == ["EVENTUALLY_CONSISTENT"]
    assert scan(dynamo, "rows", ConsistentRead=True).warnings == ()


def test_empty_pages_of_a_filtered_scan_are_not_its_end(dynamo: BaseClient) -> None:
    chosen = {"FilterExpression": "n > :n", "ExpressionAttributeValues": {":n": {"N": "28"}}}
    result = scan(dynamo, "rows", **chosen)
    assert (result.status, result.items) == ("complete", [{"k": {"S": "k29"}, "n": {"N": "29"}}])
    assert result.read.pages >= 3
    nothing = {"FilterExpression": "n > :n", "ExpressionAttributeValues": {":n": {"N": "99"}}}
    cut = scan(dynamo, "rows", budget=Budget(max_pages=1), **nothing)
    assert (cut.status, cut.items) == ("partial", [])
    assert keys(cut) == ["CLIENT_LIMIT_REACHED:max_pages", "MORE_PAGES_AVAILABLE"]


def test_an_empty_table_is_complete_and_one_that_does_not_exist_is_unavailable(dynamo: BaseClient) -> None:
    empty, nothing = scan(dynamo, "empty"), scan(dynamo, "no-such-table")
    assert (empty.status, empty.items) == ("complete", [])
    assert (nothing.status, nothing.items, keys(nothing)) == ("unavailable", None, ["SOURCE_UNAVAILABLE:status"])


def test_a_scan_goes_on_while_another_client_adds_and_deletes(dynamo: BaseClient) -> None:
    table(dynamo, "moving", 30)
    first = scan(dynamo, "moving", budget=Budget(max_pages=1))
    for n in (3, 17, 25):
        dynamo.delete_item(TableName="moving", Key={"k": {"S": f"k{n:02}"}})
    dynamo.put_item(TableName="moving", Item={"k": {"S": "new"}, "n": {"N": "1"}})
    dynamo.put_item(TableName="moving", Item={"k": {"S": "k03"}, "n": {"N": "1"}})
    rest = resume_of(first).read(budget=Budget())
    found = set(first.ids) | set(rest.ids)
    assert found >= {f"k{n:02}" for n in range(30)} - {"k03", "k17", "k25"}
    assert (rest.status, rest.consistency) in {("complete", "interval"), ("partial", "not_established")}
    assert first.read.id == rest.read.continues


def test_a_key_that_the_table_refuses_has_expired(dynalite: int) -> None:
    found = client("dynamodb", dynalite)
    table(found, "dying", 30)
    first = scan(found, "dying", budget=Budget(max_pages=1))
    found.delete_table(TableName="dying")
    with suppress(found.exceptions.ResourceNotFoundException):
        while found.describe_table(TableName="dying"):
            time.sleep(0.02)
    table(found, "dying", 0, key="another")
    late = resume_of(first).read(budget=Budget())
    assert (late.status, late.items, keys(late)) == ("unavailable", None, ["CONTINUATION_EXPIRED"])
    assert late.continuation.kind == "restart_scan"


def test_objects_of_a_bucket(moto: int) -> None:
    found = client("s3", moto)
    found.create_bucket(Bucket="bucket")
    for n in range(25):
        found.put_object(Bucket="bucket", Key=f"{'a' if n < 20 else 'b/c'}{n:02}", Body=b"x")

    def objects(**more: Any) -> Any:
        params = {"Bucket": "bucket", **more.pop("params", {})}
        query = Query("objects", page_size=10)
        return read_aws(found, "list_objects_v2", resource=query, items="Contents", id="Key", params=params, **more)

    whole = objects()
    assert (whole.status, len(whole.items), whole.read.pages) == ("complete", 25, 3)
    assert objects(params={"Prefix": "zzz"}).proves_absence()
    level = objects(params={"Delimiter": "/"})
    assert (level.status, keys(level), len(level.items)) == ("partial", ["SCOPE_NARROWED:common_prefixes"], 20)
    first = objects(budget=Budget(max_pages=1))
    assert (first.status, len(first.items), first.finding_count) == ("partial", 10, None)
    assert keys(first) == ["CLIENT_LIMIT_REACHED:max_pages", "MORE_PAGES_AVAILABLE"]
    found.delete_object(Bucket="bucket", Key="a15")
    found.put_object(Bucket="bucket", Key="a00b", Body=b"x")  # sorts before where the walk stands
    rest = resume_of(first).read(budget=Budget())
    assert (rest.status, rest.consistency, len(first.ids) + len(rest.ids)) == ("complete", "interval", 24)
    found.put_bucket_versioning(Bucket="bucket", VersioningConfiguration={"Status": "Enabled"})
    for _ in range(3):
        found.put_object(Bucket="bucket", Key="a00", Body=b"y")
    versions = read_aws(  # two tokens go along with each page
        found, "list_object_versions", resource=Query("versions", page_size=10), items="Versions",
        id="[Key, VersionId]", params={"Bucket": "bucket"},
    )  # fmt: skip
    assert (versions.status, len(versions.items)) == ("complete", 28)
    missing = objects(params={"Bucket": "no-such-bucket"})
    assert (missing.status, keys(missing)) == ("unavailable", ["SOURCE_UNAVAILABLE:status"])


def test_roles_page_for_real(moto: int) -> None:
    found = client("iam", moto)
    for n in range(25):
        found.create_role(RoleName=f"r{n}", AssumeRolePolicyDocument="{}")
    query = Query("roles", page_size=10)
    result = read_aws(found, "list_roles", resource=query, items="Roles", id="RoleName")
    assert (result.status, len(result.items), result.read.pages) == ("complete", 25, 3)


def test_events_of_a_log_and_its_groups(moto: int) -> None:
    found = client("logs", moto)
    where = {"logGroupName": "g", "logStreamName": "s"}
    found.create_log_group(logGroupName="g")
    found.create_log_stream(**where)
    now = int(time.time() * 1000)
    events = [{"timestamp": now + n, "message": f"m{n}"} for n in range(25)]
    found.put_log_events(**where, logEvents=events)
    query = Query("events", page_size=10)
    walked = read_aws(found, "get_log_events", resource=query, items="events", id="message", params=where)
    assert (walked.status, len(walked.items)) == ("complete", 25)
    chosen = read_aws(
        found, "filter_log_events", resource=query, items="events", id="eventId", params={"logGroupName": "g"}
    )
    assert (chosen.status, len(chosen.items)) == ("complete", 25)
    groups = read_aws(found, "describe_log_groups", resource="groups", items="logGroups", id="logGroupName")
    assert (groups.status, groups.ids) == ("complete", ("g",))
    nowhere = read_aws(
        found, "get_log_events", resource=query, items="events", id=None, params={**where, "logStreamName": "x"}
    )
    assert nowhere.status == "unavailable"


def test_a_service_that_is_gone_is_unavailable_and_never_an_empty_list() -> None:
    result = scan(client("dynamodb", free_port()), "rows", budget=Budget(max_retries=0))
    assert (result.status, result.items, keys(result)) == ("unavailable", None, ["SOURCE_UNAVAILABLE:disconnect"])
