"""Answers of AWS that no emulator gives, through the stubs of botocore."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest
from botocore import exceptions
from botocore.client import BaseClient
from botocore.config import Config
from botocore.stub import Stubber
from unabridged import Budget, Query
from unabridged.contract import InvalidInput, resume_of
from unabridged.sources.aws import AwsWalk, read_aws

ONCE = Budget(max_retries=0)


def client(service: str) -> BaseClient:
    return boto3.client(
        service, region_name="eu-central-1", aws_access_key_id="a", aws_secret_access_key="b",
        config=Config(retries={"max_attempts": 0}),
    )  # fmt: skip


@contextmanager
def stubbed(service: str, operation: str, *answers: Any) -> Iterator[BaseClient]:
    """A client that gives these answers: what the service says, or (code, status) of a refusal."""
    found = client(service)
    with Stubber(found) as stub:
        for answer in answers:
            if isinstance(answer, tuple):
                stub.add_client_error(operation, answer[0], "sk_secret in a message", http_status_code=answer[1])
            else:
                stub.add_response(operation, answer)
        yield found


def role(name: str) -> dict[str, Any]:
    return {"Path": "/", "RoleName": name, "RoleId": name * 16, "Arn": "arn:aws:iam::1:role/x" + name,
            "CreateDate": "2026-11-30T09:00:00Z"}  # fmt: skip


def roles(found: BaseClient, **options: Any) -> Any:
    return read_aws(found, "list_roles", resource="roles", items="Roles", id="RoleName", budget=ONCE, **options)


def keys(result: Any) -> list[str]:
    return [reason.key for reason in result.reasons]


def test_a_flag_without_a_token_is_an_anomaly_and_the_records_are_kept() -> None:
    with stubbed("iam", "list_roles", {"Roles": [role("a")], "IsTruncated": True}) as found:
        result = roles(found)
    assert (result.status, keys(result)) == ("partial", ["PROTOCOL_ANOMALY:continuation_missing"])
    assert (len(result.items), result.continuation.kind) == (1, "none")


def test_an_empty_page_with_a_token_goes_on_and_a_false_flag_ends_it() -> None:
    pages = [{"Roles": [], "IsTruncated": True, "Marker": "m"}, {"Roles": [role("a")], "IsTruncated": False}]
    with stubbed("iam", "list_roles", *pages) as found:
        result = roles(found)
    assert (result.status, len(result.items), result.read.pages) == ("complete", 1, 2)
    assert "PARTIAL_FIELD_SET" in [warning.code for warning in result.warnings]


def test_a_token_that_comes_back_twice_is_no_end() -> None:
    pages = [{"Roles": [role(name)], "IsTruncated": True, "Marker": "m"} for name in "abc"]
    with stubbed("iam", "list_roles", *pages) as found:
        assert keys(roles(found)) == ["PROTOCOL_ANOMALY:cursor_repeated"]


@pytest.mark.parametrize("items", [[{"id": {"S": "a"}}], []])
def test_unprocessed_keys_beside_the_results_are_a_partial_failure(items: list[Any]) -> None:
    answer = {"Responses": {"my-t": items}, "UnprocessedKeys": {"my-t": {"Keys": [{"id": {"S": "b"}}]}}}
    with stubbed("dynamodb", "batch_get_item", answer) as found:
        result = read_aws(
            found, "batch_get_item", resource="t", items="Responses.my-t", id="id.S",
            params={"RequestItems": {"my-t": {"Keys": [{"id": {"S": "a"}}, {"id": {"S": "b"}}]}}},
        )  # fmt: skip
    assert (result.status, keys(result), len(result.items)) == ("partial", ["PARTIAL_FAILURE"], len(items))


def test_keys_in_a_binary_type_come_back_as_they_were() -> None:
    start = {"k": {"B": b"\xff\x00"}}
    pages = [{"Items": [], "Count": 0, "ScannedCount": 5, "LastEvaluatedKey": start}, {"Items": [], "Count": 0}]
    found = client("dynamodb")
    with Stubber(found) as stub:
        stub.add_response("scan", pages[0], {"TableName": "table"})
        stub.add_response("scan", pages[1], {"TableName": "table", "ExclusiveStartKey": start})
        result = read_aws(found, "scan", resource="t", items="Items", id="k.B", params={"TableName": "table"})
    assert (result.status, result.items) == ("complete", [])


def test_a_count_of_records_that_were_not_sent_contradicts_the_list() -> None:
    with stubbed("dynamodb", "scan", {"Count": 7, "ScannedCount": 7}) as found:
        result = read_aws(found, "scan", resource="t", items="Items", id="k.S", params={"TableName": "table"})
    assert (result.status, keys(result)) == ("partial", ["PROTOCOL_ANOMALY:contradictory_signals"])


def test_prefixes_that_a_delimiter_folded_narrow_the_scope() -> None:
    answer = {"Contents": [{"Key": "a"}], "CommonPrefixes": [{"Prefix": "b/"}], "IsTruncated": False, "KeyCount": 2}
    with stubbed("s3", "list_objects_v2", answer) as found:
        result = read_aws(
            found, "list_objects_v2", resource="objects", items="Contents", id="Key",
            params={"Bucket": "bucket", "Delimiter": "/"},
        )  # fmt: skip
    assert keys(result) == ["SCOPE_NARROWED:common_prefixes"]


def test_queues_are_asked_for_by_the_page_because_else_a_thousand_are_all_that_comes() -> None:
    found = client("sqs")
    with Stubber(found) as stub:
        stub.add_response("list_queues", {"QueueUrls": ["q1"], "NextToken": "n"}, {"MaxResults": 1000})
        stub.add_response("list_queues", {}, {"MaxResults": 1000, "NextToken": "n"})
        result = read_aws(found, "list_queues", resource="queues", items="QueueUrls", id="@")
    assert (result.status, result.items) == ("complete", ["q1"])


def test_lists_in_lists_are_one_and_a_region_is_not_the_world() -> None:
    answer = {"Reservations": [{"Instances": [{"InstanceId": "i-1"}]}, {"Instances": [{"InstanceId": "i-2"}]}]}
    with stubbed("ec2", "describe_instances", answer) as found:
        result = read_aws(
            found, "describe_instances", resource="instances", items="Reservations[].Instances", id="InstanceId"
        )
    assert (result.status, [item["InstanceId"] for item in result.items]) == ("complete", ["i-1", "i-2"])
    assert (result.scope.excludes, result.warnings[0].code) == (("other regions",), "DEFAULT_SCOPE_APPLIED")


def test_events_of_a_trail_are_those_of_ninety_days() -> None:
    with stubbed("cloudtrail", "lookup_events", {"Events": []}) as found:
        result = read_aws(found, "lookup_events", resource="events", items="Events", id="EventId")
    assert (result.status, result.items, result.scope.window) == ("partial", [], "90 days")
    assert keys(result) == ["SCOPE_NARROWED"]


@pytest.mark.parametrize("status", ["Running", "Timeout", "Complete"])
def test_rows_of_a_query_that_has_not_finished_are_a_state(status: str) -> None:
    answer = {"results": [[{"field": "f", "value": "v"}]], "status": status}
    with stubbed("logs", "get_query_results", answer) as found:
        result = read_aws(
            found, "get_query_results", resource="rows", items="results", id=None, params={"queryId": "q"}
        )  # fmt: skip
    assert keys(result) == ([] if status == "Complete" else ["JOB_NOT_FINISHED"])


@pytest.mark.parametrize(
    ("code", "status", "key", "continuation"),
    [
        ("ThrottlingException", 400, "RATE_LIMITED", "repeat_read"),
        ("AccessDenied", 403, "VISIBILITY_RESTRICTED:forbidden", "request_access"),
        ("UnauthorizedOperation", 403, "VISIBILITY_RESTRICTED:forbidden", "request_access"),
        ("ExpiredToken", 400, "VISIBILITY_RESTRICTED:forbidden", "request_access"),
        ("InternalFailure", 500, "SOURCE_UNAVAILABLE:status", "repeat_read"),
        ("ValidationError", 400, "SOURCE_UNAVAILABLE:status", "none"),
        ("NoSuchEntity", 404, "SOURCE_UNAVAILABLE:status", "none"),
    ],
)
def test_a_refusal_is_unavailable_and_keeps_its_message_to_itself(
    code: str, status: int, key: str, continuation: str
) -> None:
    with stubbed("iam", "list_roles", (code, status)) as found:
        result = roles(found)
    assert (result.status, result.items, keys(result)) == ("unavailable", None, [key])
    assert result.continuation.kind == continuation
    assert "sk_secret" not in str(result.to_wire())


@pytest.mark.parametrize(
    ("code", "key"),
    [
        ("InvalidNextTokenException", "CONTINUATION_EXPIRED"),
        ("ValidationError", "CONTINUATION_EXPIRED"),
        ("Throttling", "RATE_LIMITED"),
        ("ExpiredTokenException", "VISIBILITY_RESTRICTED:forbidden"),
    ],
)
def test_a_refusal_on_a_later_page_keeps_the_pages_before(code: str, key: str) -> None:
    with stubbed("iam", "list_roles", {"Roles": [role("a")], "IsTruncated": True, "Marker": "m"}, (code, 400)) as found:
        result = roles(found)
    assert (result.status, keys(result), len(result.items)) == ("partial", [key], 1)


class Raises:
    """A client whose operation ends in an error of botocore."""

    def __init__(self, error: Exception) -> None:
        self.meta, self.error = client("iam").meta, error

    def list_roles(self, **_: Any) -> Any:
        raise self.error


@pytest.mark.parametrize(
    ("error", "key"),
    [
        (exceptions.ReadTimeoutError(endpoint_url="https://sk_secret"), "SOURCE_UNAVAILABLE:timeout"),
        (exceptions.EndpointConnectionError(endpoint_url="https://sk_secret"), "SOURCE_UNAVAILABLE:disconnect"),
        (exceptions.NoCredentialsError(), "VISIBILITY_RESTRICTED:unauthorized"),
        (exceptions.IncompleteReadError(actual_bytes=1, expected_bytes=2), "TRANSPORT_TRUNCATED:short_body"),
    ],
)
def test_a_call_that_brings_nothing_is_unavailable(error: Exception, key: str) -> None:
    result = roles(Raises(error))
    assert (result.status, keys(result)) == ("unavailable", [key])
    assert "sk_secret" not in str(result.to_wire())


def test_events_of_a_log_end_with_the_token_that_was_sent() -> None:
    def events(token: str, *names: str) -> dict[str, Any]:
        return {"events": [{"timestamp": 1, "message": name} for name in names], "nextForwardToken": token}

    pages = [events("f/1", "a"), events("f/2"), events("f/3", "b"), events("f/3")]
    where = {"logGroupName": "g", "logStreamName": "s"}
    with stubbed("logs", "get_log_events", *pages) as found:
        result = read_aws(found, "get_log_events", resource="events", items="events", id="message", params=where)
        with pytest.raises(InvalidInput, match="startFromHead"):
            read_aws(
                found, "get_log_events", resource="e", items="events", id=None, params={**where, "startFromHead": False}
            )
    assert (result.status, len(result.items), result.read.pages) == ("complete", 2, 4)


def test_a_read_that_our_budget_stopped_goes_on() -> None:
    pages = [{"Roles": [role("a")], "IsTruncated": True, "Marker": "m"}, {"Roles": [role("b")], "IsTruncated": False}]
    with stubbed("iam", "list_roles", *pages) as found:
        query = Query("roles", page_size=1)
        first = read_aws(found, "list_roles", resource=query, items="Roles", id="RoleName", budget=Budget(max_pages=1))
        rest = resume_of(first).read(budget=Budget())
    assert (first.continuation.kind, rest.status, len(rest.items)) == ("next_page", "complete", 1)


@pytest.mark.parametrize(
    ("service", "operation", "options", "field"),
    [
        ("iam", "delete_role", {"items": "Roles"}, "operation"),
        ("iam", "list_everything", {"items": "Roles"}, "operation"),
        ("iam", "list_roles", {"items": "Rolls"}, "items"),
        ("iam", "list_roles", {"items": "Roles[].RoleName"}, "items"),
        ("iam", "list_roles", {"items": "Roles", "params": {"Marker": "m"}}, "params"),
        ("iam", "list_roles", {"items": "Roles", "params": {"PathPrefix": 7}}, "params"),
        ("dynamodb", "scan", {"items": "Items", "params": {"TableName": "t", "Select": "COUNT"}}, "params"),
        ("cognito-idp", "get_csv_header", {"items": "CSVHeader", "resource": Query("r", page_size=3)}, "resource"),
        ("sqs", "list_queues", {"items": "QueueUrls", "budget": 7}, "budget"),
    ],
)
def test_arguments_that_would_read_something_else_are_refused(
    service: str, operation: str, options: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_aws(client(service), operation, **{"resource": "r", "id": None, **options})
    assert refused.value.fields["field"] == field
    assert refused.value.__context__ is None


@pytest.mark.parametrize(
    ("service", "operation", "items", "params"),
    [
        ("cloudfront", "list_cache_policies", "CachePolicyList.Items", {}),
        ("cloudfront", "list_distributions_by_web_acl_id", "DistributionList.Items", {"WebACLId": "w"}),
        ("pinpoint", "get_segments", "SegmentsResponse.Item", {"ApplicationId": "a"}),
        ("kinesis", "get_records", "Records", {"ShardIterator": "s"}),
        ("cloudsearchdomain", "search", "hits.hit", {"query": "q"}),
    ],
)
def test_a_token_beside_the_list_is_found_also_below_the_top(
    service: str, operation: str, items: str, params: dict[str, Any]
) -> None:
    endpoint = {"endpoint_url": "http://127.0.0.1:9"} if service == "cloudsearchdomain" else {}
    found = boto3.client(
        service, region_name="eu-central-1", aws_access_key_id="a", aws_secret_access_key="b", **endpoint
    )  # fmt: skip
    with pytest.raises(InvalidInput, match="walk"):
        read_aws(found, operation, resource="r", items=items, id=None, params=params)


def test_a_list_whose_token_stands_beside_it_is_walked_as_it_is_said() -> None:
    def policies(*names: str, **more: str) -> dict[str, Any]:
        config = {"Name": "n", "MinTTL": 0}
        listed = [
            {"Type": "custom",
             "CachePolicy": {"Id": name, "LastModifiedTime": "2026-11-30T09:00:00Z", "CachePolicyConfig": config}}
            for name in names
        ]  # fmt: skip
        return {"CachePolicyList": {"MaxItems": 1, "Quantity": len(listed), "Items": listed, **more}}

    way = AwsWalk(("Marker",), ("CachePolicyList.NextMarker",), size="MaxItems")
    with stubbed("cloudfront", "list_cache_policies", policies("a", NextMarker="m"), policies("b")) as found:
        result = read_aws(
            found, "list_cache_policies", resource="p", items="CachePolicyList.Items", id="CachePolicy.Id", walk=way
        )
    assert (result.status, result.ids) == ("complete", ("a", "b"))


@pytest.mark.parametrize(
    ("service", "operation", "items", "left_out", "params"),
    [
        ("codebuild", "batch_get_projects", "projects", "projectsNotFound", {"names": ["a"]}),
        ("ssm", "get_parameters", "Parameters", "InvalidParameters", {"Names": ["a"]}),
        ("glue", "batch_get_workflows", "Workflows", "MissingWorkflows", {"Names": ["a"]}),
    ],
)
def test_what_was_asked_for_and_did_not_come_is_a_partial_failure(
    service: str, operation: str, items: str, left_out: str, params: dict[str, Any]
) -> None:
    for missing, status in ((["a"], "partial"), ([], "complete")):
        with stubbed(service, operation, {left_out: missing} if missing else {}) as found:
            result = read_aws(found, operation, resource="r", items=items, id=None, params=params)
        assert (result.status, result.items, keys(result)) == (status, [], ["PARTIAL_FAILURE"] if missing else [])


def test_an_operation_that_pages_in_a_way_nobody_knows_has_to_be_described() -> None:
    found = client("ce")
    period = {"TimePeriod": {"Start": "2026-01-01", "End": "2026-02-01"}, "SortBy": [], "Dimension": "SERVICE"}
    options = {"resource": "values", "items": "DimensionValues", "id": "Value", "params": period}
    with pytest.raises(InvalidInput, match="walk"):
        read_aws(found, "get_dimension_values", **options)
    way = AwsWalk(("NextPageToken",), ("NextPageToken",))
    answer = {"DimensionValues": [], "ReturnSize": 0, "TotalSize": 0}
    with stubbed("ce", "get_dimension_values", answer) as found:
        assert read_aws(found, "get_dimension_values", **options, walk=way).status == "complete"
