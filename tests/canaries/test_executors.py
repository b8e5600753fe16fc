"""The executors: HTTP with its credential, and a process of its own, whichever way a command goes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from actions.executors.wire import wire
from canaries.desk import GOOD, MODES, act, heard, orders, refund
from canaries.over_http import HTTP, TOKEN, Holding, http_of
from canaries.places import placed
from canaries.watching import IDS, Watch, found_in
from unabridged.actions.executors import ProcessExecutor

both_ways = pytest.mark.parametrize("is_async", [False, True])


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
