"""The executors: HTTP with its credential, and a process of its own, whichever way a command goes."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from actions.executors.wire import Heard, Wire, wire
from actions.executors.wire import said as response
from canaries import langchain_desk, llamaindex_desk
from canaries.desk import ANSWER, GOOD, MODES, act, heard, orders, refund, said
from canaries.places import placed
from canaries.watching import IDS, KEY, SAID, UP, Watch, found_in, not_of_model
from chat_scripts import calls
from langgraph.checkpoint.memory import InMemorySaver
from unabridged.actions.executors import FromCallable, HttpExecutor, ProcessExecutor, Route
from unabridged_langchain import CoverageMiddleware

both_ways = pytest.mark.parametrize("is_async", [False, True])
TOKEN = f"{KEY}token"
ROUTE = Route(
    "POST", "/orders/{target}/refund", body=["mail", "cents"], unused=["low", "high"],
    idempotency_header="Idempotency-Key",
)  # fmt: skip
_CUT = b"HTTP/1.1 200 X\r\ncontent-length: 999\r\n\r\n" + json.dumps(ANSWER).encode()


def _later(heard: Heard) -> bytes:
    return response(429, {"error": said(TOKEN)}, retry_after="0") if heard.number == 0 else response(200, ANSWER)


HTTP: dict[str, bytes | Callable[[Heard], bytes]] = {
    "valid": response(200, ANSWER, x_note=f"{UP}header"),
    "rejected": response(400, {"error": said(TOKEN)}, www_authenticate=f"{SAID}realm"),
    "failing": response(500, said(TOKEN)),
    "retry": _later,
    "other form": response(200, {"ref": f"{UP}ref", "queued": f"{UP}queued", "customer": [f"{UP}customer"]}),
    "free text": response(200)[:-4].replace(b"content-length: 0", b"content-length: 6") + b"\r\n\r\nqzup x",
    "cut": _CUT,
    "gone": lambda _: b"",
    "redirect": response(302, None, location=f"https://{UP}.example/{SAID}?token={TOKEN}"),
    "slow": b"",
    "no credential": b"",
    "no place": b"",
}


def _no_credential() -> str:
    raise KeyError(said(TOKEN))


def http_of(server: Wire, way: str) -> HttpExecutor:
    """Returns the executor as a way needs it."""
    route = Route("POST", "/orders/{target}", unused=["mail"]) if way == "no place" else ROUTE
    credential = FromCallable(_no_credential if way == "no credential" else lambda: TOKEN)
    options = {"timeout_s": 0.2} if way == "slow" else {}
    return HttpExecutor(origin=server.origin, routes={"refund": route}, credential=credential, **options)


class Holding:
    """An answer that does not come before the test is over."""

    mode = "hangs"

    def __init__(self) -> None:
        self.holds, self._over, self._loop = asyncio.Event(), threading.Event(), asyncio.get_running_loop()

    def __call__(self, _: Heard) -> bytes:
        self._loop.call_soon_threadsafe(self.holds.set)
        self._over.wait(60)
        return b""

    def __enter__(self) -> Holding:
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()


@both_ways
@pytest.mark.parametrize("way", HTTP)
async def test_no_way_that_a_request_goes_lets_a_value_or_the_credential_out(
    way: str, is_async: bool, tmp_path: Path
) -> None:
    with (
        Holding() as never, wire(never if way == "slow" else HTTP[way]) as server,
        Watch() as watch, placed("sqlite", tmp_path) as place,
    ):  # fmt: skip
        place.session.record(orders(filters={"owner": GOOD["mail"]}))
        action = refund(http_of(server, way), approval="always")
        told = [heard(await act(is_async, action, GOOD)) for _ in range(2)]
    assert place.cards, "a person was asked"
    assert bool(server.heard) == (way not in ("no credential", "no place"))
    assert all(each.header("authorization") == [f"Bearer {TOKEN}"] for each in server.heard)
    assert ("R-1" in told[0]) == (way in ("valid", "retry"))
    assert [found_in(t) for t in told] == [set(), set()]
    assert (watch.leaks(), place.leaks()) == ({}, {})


async def test_a_request_that_is_cancelled_leaves_no_value_and_no_credential(tmp_path: Path) -> None:
    with Holding() as never, wire(never) as server, Watch() as watch, placed("sqlite", tmp_path) as place:
        place.session.record(orders())
        running = asyncio.ensure_future(act(True, refund(http_of(server, "valid"), approval="always"), GOOD))
        await never.holds.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await running
        watch.raised(cancelled.value)
    assert server.heard
    assert (watch.leaks(), place.leaks()) == ({}, {})


@both_ways
@pytest.mark.parametrize("way", ["valid", "rejected", "free text", "cut", "hangs"])
@pytest.mark.parametrize("room", ["langchain", "llamaindex"])
async def test_an_agent_learns_of_a_request_what_was_declared(
    room: str, way: str, is_async: bool, tmp_path: Path
) -> None:
    if way == "hangs" and not is_async:
        pytest.skip("what is not awaited cannot be cancelled")
    upstream: Any = SimpleNamespace(mode=way)
    with Holding() as never, wire(never if way == "hangs" else HTTP[way]) as server:
        upstream.holds = never.holds
        executor = http_of(server, way)
        with placed("memory", tmp_path) as place:
            if room == "langchain":
                task: Any = await langchain_desk.follow(
                    langchain_desk.tools_of(executor, "action", is_async=is_async, approval="always"),
                    [calls(("list_orders", {"owner": None})), calls(("refund", GOOD))], upstream, is_async=is_async,
                    layers=[CoverageMiddleware()], saver=InMemorySaver(),
                )  # fmt: skip
            else:
                tools = llamaindex_desk.tools_of(executor, "action", is_async=is_async, approval="always")
                turns = [[("list_orders", {})], [("refund", GOOD)]]
                task = await llamaindex_desk.follow(tools, turns, upstream)
    assert (task.died is None) == (way != "hangs")
    assert server.heard
    assert task.told() == {}
    assert not_of_model(task.found.places) == {}
    assert (task.watch.leaks(), place.leaks()) == ({}, {})


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, ProcessExecutor]]:
    """One process for all ways, and the folder where its orders are."""
    folder = tmp_path_factory.mktemp("there")
    with ProcessExecutor(
        "canaries.made_there:Obeying", options={"folder": str(folder)}, outputs={"refund": "canaries.desk:Receipt"},
        timeout_s=120, start_s=120,
    ) as executor:  # fmt: skip
        yield folder, executor


def _obeys(folder: Path, mode: str) -> None:
    for name in ("begun", "go"):
        (folder / name).unlink(missing_ok=True)
    (folder / "mode").write_text(mode)


@both_ways
@pytest.mark.parametrize("mode", [*MODES, "dies", "ends"])
async def test_no_way_that_a_command_goes_in_a_process_of_its_own_lets_a_value_out(
    mode: str, is_async: bool, there: tuple[Path, ProcessExecutor], tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    folder, executor = there
    _obeys(folder, mode)
    with Watch() as watch, placed("sqlite", tmp_path) as place:
        place.session.record(orders(filters={"owner": GOOD["mail"]}))
        told = [heard(await act(is_async, refund(executor, approval="always"), GOOD)) for _ in range(2)]
    assert (folder / "begun").exists(), "it did run"
    assert ("R-1" in told[0]) == (mode == "valid")
    assert [found_in(t) for t in told] == [set(), set()]
    assert found_in("".join(capfd.readouterr())) == set()
    assert (watch.leaks(), place.leaks()) == ({}, {})


async def test_a_command_that_is_cancelled_in_a_process_of_its_own_leaves_no_value(
    there: tuple[Path, ProcessExecutor], tmp_path: Path
) -> None:
    folder, executor = there
    _obeys(folder, "hangs")
    with Watch() as watch, placed("sqlite", tmp_path) as place:
        place.session.record(orders())
        running = asyncio.ensure_future(act(True, refund(executor, approval="always"), GOOD))
        while not (folder / "begun").exists():
            await asyncio.sleep(0.02)
        running.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await running
        watch.raised(cancelled.value)
    (folder / "go").touch()
    assert (watch.leaks(), place.leaks()) == ({}, {})


def test_an_executor_and_its_command_show_nothing_of_themselves() -> None:
    from actions.executors.wire import shown
    from unabridged.actions import Command

    command = Command(action="refund", fields=GOOD, target=f"o {IDS}one", targets=(f"o {IDS}one",), idempotency_key="a")
    with wire() as server:
        texts = [repr(command), str(command), shown(http_of(server, "valid"))]
    assert [found_in(text) for text in texts] == [set(), set(), set()]
