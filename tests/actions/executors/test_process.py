"""An executor in a process of its own: commands go in, declared outputs and codes come out, and nobody is orphaned."""

from __future__ import annotations

import asyncio
import copy
import gc
import hashlib
import logging
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from actions.executors.wire import command, said, tracked, wire
from unabridged.actions.executing import Executed
from unabridged.actions.executors import ProcessExecutor
from unabridged.actions.failures import ExecutorError
from unabridged.contract import InvalidInput

MADE = "actions.executors.made_there"
LONG_S = 120.0
"""How long a test waits for what must happen, on however slow a machine."""

Make = Callable[..., ProcessExecutor]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[ProcessExecutor] = []

    def new(kind: str = "Puppet", output: str | None = "Done", **options: Any) -> ProcessExecutor:
        outputs = {} if output is None else {"archive": f"{MADE}:{output}"}
        options.setdefault("options", {"folder": str(tmp_path)})
        options = {"timeout_s": LONG_S, "start_s": LONG_S, "outputs": outputs, **options}
        made.append(ProcessExecutor(f"{MADE}:{kind}", **options))
        return made[-1]

    yield new
    for executor in made:
        executor.close()


def _failure(executor: ProcessExecutor, **fields: Any) -> tuple[str, bool]:
    given = command(**fields)
    with pytest.raises(ExecutorError) as failed:
        executor.execute(given)
    assert "CANARY" not in tracked(failed.value)
    return failed.value.code, failed.value.may_have_happened


def _until(holds: Callable[[], Any]) -> Any:
    end = time.monotonic() + LONG_S
    while time.monotonic() < end:
        found = holds()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not happen")


def _is_gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has asked after yet has."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return True


def _pid_in(path: Path) -> int:
    return int(_until(lambda: path.exists() and path.read_text()))


def test_only_the_declared_fields_come_out_of_the_process(make: Make) -> None:
    with make() as executor:
        first = executor.execute(command(do="done"))
        assert first == {"state": "done", "pid": first["pid"]}
        assert first["pid"] != os.getpid()
        assert executor.execute(command(do="done")) == first
        assert asyncio.run(executor.aexecute(command(do="done"))) == first
    assert make(output=None).execute(command(do="done")) is None


def test_an_executor_that_is_only_awaited_runs_there_too(make: Make) -> None:
    assert make("Awaited").execute(command(do="done"))["state"] == "done"


def test_targets_that_were_left_come_out_with_their_codes(make: Make) -> None:
    found = make().execute(command(do="some"))
    assert isinstance(found, Executed)
    assert found.document == {"state": "done", "pid": 0}
    assert found.failed == {"a-2": "recipient_unavailable"}


@pytest.mark.parametrize(
    ("do", "code", "may"),
    [("fails", "reference_invalid", False), ("raises", "internal", True), ("exits", "internal", True),
     ("wrong", "provider_invalid_response", True), ("nothing_of_that_name", "internal", True)],
)  # fmt: skip
def test_what_goes_wrong_there_is_a_code_here_and_its_text_goes_to_the_file_alone(
    make: Make, tmp_path: Path, capfd: pytest.CaptureFixture[str], do: str, code: str, may: bool
) -> None:
    kept = tmp_path / "diagnostics"
    executor = make(diagnostics=kept)
    assert _failure(executor, do=do) == (code, may)
    assert executor.execute(command(do="done"))["state"] == "done"
    assert ("CANARY" in kept.read_text()) == (do in ("raises", "exits"))
    assert kept.stat().st_mode & 0o077 == 0
    quiet = make()
    assert _failure(quiet, do=do) == (code, may)
    assert capfd.readouterr() == ("", "")


def test_a_file_for_diagnostics_that_others_can_read_is_not_written(make: Make, tmp_path: Path) -> None:
    kept = tmp_path / "diagnostics"
    kept.touch(0o644)
    kept.chmod(0o644)
    assert _failure(make(diagnostics=kept), do="raises") == ("provider_retryable", False)
    assert kept.read_text() == ""


def test_a_factory_that_fails_has_done_nothing(
    make: Make, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for kind in ("broken", "NoSuchName"):
        assert _failure(make(kind), do="done") == ("provider_retryable", False)
    assert _failure(make(output="NoSuchModel"), do="done") == ("provider_retryable", False)
    assert capfd.readouterr() == ("", "")
    assert "did not start" in caplog.text
    assert "CANARY" not in caplog.text


def test_a_process_that_dies_in_the_midst_leaves_it_unknown_and_the_next_command_finds_another(
    make: Make, tmp_path: Path
) -> None:
    executor = make()
    before = executor.execute(command(do="done"))["pid"]
    assert _failure(executor, do="dies") == ("internal", True)
    assert int((tmp_path / "begun").read_text()) == before
    assert executor.execute(command(do="done"))["pid"] != before


@pytest.mark.parametrize("is_seen_alive", [False, True])
def test_a_process_that_died_while_it_was_idle_is_replaced(make: Make, is_seen_alive: bool) -> None:
    executor = make()
    before = executor.execute(command(do="done"))["pid"]
    os.kill(before, signal.SIGKILL)
    _until(lambda: _is_gone(before))
    if is_seen_alive:  # as one is whose threads have not all ended
        (child,) = executor._pool._idle
        child.is_alive = lambda: True
    assert executor.execute(command(do="done"))["pid"] != before


def test_a_process_that_hangs_is_killed_and_leaves_it_unknown(make: Make, tmp_path: Path) -> None:
    executor = make(timeout_s=3.0)
    assert _failure(executor, do="hangs") == ("timeout", True)
    if (tmp_path / "begun").exists():
        pid = _pid_in(tmp_path / "begun")
        _until(lambda: _is_gone(pid))


def _framed(text: bytes) -> str:
    return (len(text).to_bytes(4) + text).hex()


ANSWERS = {
    "a gibibyte": "40000000",
    "no json": _framed(b"CANARY"),
    "no object": _framed(b'"CANARY"'),
    "other keys": _framed(b'{"leaked": "CANARY"}'),
    "begun twice": _framed(b'{"begun": true}'),
    "something beside": _framed(b'{"output": {}, "more": "CANARY"}'),
    "an output that is no object": _framed(b'{"output": "CANARY"}'),
    "a code that is none": _framed(b'{"code": 7, "may_have_happened": true}'),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_an_answer_that_is_none_ends_the_process_and_leaves_it_unknown(make: Make, kind: str) -> None:
    executor = make("Babbling")
    assert _failure(executor, bytes=ANSWERS[kind]) == ("internal", True)
    assert executor._pool._all == []


def test_an_answer_that_is_too_long_is_not_taken(make: Make) -> None:
    assert make(max_answer_bytes=300).execute(command(do="long"))["state"] == "x" * 200
    assert _failure(make(max_answer_bytes=100), do="long") == ("provider_invalid_response", True)


def test_a_command_that_is_no_json_or_too_long_is_not_sent(make: Make) -> None:
    executor = make()
    assert _failure(executor, do=object()) == ("internal", False)
    assert _failure(executor, do="x" * 5_000_000) == ("internal", False)
    assert executor._pool._all == []


def test_no_more_commands_run_at_a_time_than_there_are_processes(make: Make, tmp_path: Path) -> None:
    executor = make(processes=2)
    with ThreadPoolExecutor(6) as threads:
        running = [threads.submit(executor.execute, command(target=n, do="waits")) for n in range(6)]
        _until(lambda: len(list(tmp_path.glob("begun-*"))) == 2)
        assert len(executor._pool._all) <= 2
        time.sleep(0.3)
        assert len(list(tmp_path.glob("begun-*"))) == 2
        (tmp_path / "go").touch()
        found = [each.result(LONG_S) for each in running]
    assert [f["state"] for f in found] == [str(n) for n in range(6)]
    assert len({f["pid"] for f in found}) == 2


def test_commands_of_an_event_loop_run_beside_it(make: Make, tmp_path: Path) -> None:
    executor = make(processes=2)

    async def run() -> list[Any]:
        running = [asyncio.create_task(executor.aexecute(command(target=n, do="waits"))) for n in range(2)]
        while len(list(tmp_path.glob("begun-*"))) < 2:
            await asyncio.sleep(0.02)
        (tmp_path / "go").touch()
        return await asyncio.gather(*running)

    assert [f["state"] for f in asyncio.run(run())] == ["0", "1"]


def test_a_command_that_waits_too_long_for_its_turn_was_not_carried_out(make: Make, tmp_path: Path) -> None:
    executor = make(timeout_s=20.0)
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(executor.execute, command(do="waits"))
        _until(lambda: list(tmp_path.glob("begun-*")))
        executor._timeout_s = 0.05  # the second does not wait
        assert _failure(executor, do="done") == ("provider_retryable", False)
        (tmp_path / "go").touch()
        assert first.result(LONG_S)["state"] == "a-1"


def test_closing_ends_what_runs_and_refuses_what_comes(make: Make, tmp_path: Path) -> None:
    executor = make()
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(_failure, executor, do="waits")
        pid = _pid_in(tmp_path / "begun-a-1")
        executor.close()
        assert running.result(LONG_S) == ("internal", True)
    assert _is_gone(pid)
    assert _failure(executor, do="done") == ("provider_retryable", False)


def test_an_executor_that_is_dropped_takes_its_process_along() -> None:
    executor = ProcessExecutor(f"{MADE}:Puppet", options={"folder": "/"}, outputs={"archive": f"{MADE}:Done"})
    pid = executor.execute(command(do="done"))["pid"]
    del executor
    gc.collect()
    assert _is_gone(pid)


PARENT = """
import sys, threading
from actions.executors.made_there import Done
from actions.executors.wire import command
from unabridged.actions.executors import ProcessExecutor
executor = ProcessExecutor("actions.executors.made_there:Puppet", options={"folder": sys.argv[1]},
                           outputs={"archive": "actions.executors.made_there:Done"}, timeout_s=600)
print(executor.execute(command(do="done"))["pid"], flush=True)
if sys.argv[2] == "busy":
    threading.Thread(target=executor.execute, args=(command(do="hangs"),), daemon=True).start()
sys.stdin.readline()
"""


@pytest.mark.parametrize("state", ["idle", "busy"])
@pytest.mark.parametrize("end", ["return", "SIGTERM", "SIGKILL"])
def test_a_process_ends_with_its_parent_however_that_ends(tmp_path: Path, state: str, end: str) -> None:
    path = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path), state],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert parent.stdin is not None
    assert parent.stdout is not None
    with parent:
        child = int(parent.stdout.readline())
        if state == "busy":
            assert _pid_in(tmp_path / "begun") == child
        assert not _is_gone(child)
        if end == "return":
            parent.stdin.write("\n")
            parent.stdin.flush()
        else:
            parent.send_signal(getattr(signal, end))
        parent.wait(LONG_S)
    _until(lambda: _is_gone(child))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_process_that_is_forked_off_starts_its_own_and_leaves_its_parents_alone(make: Make, tmp_path: Path) -> None:
    executor = make()
    mine = executor.execute(command(do="done"))["pid"]
    result = tmp_path / "forked"
    executor._pool._lock.acquire()  # as when another thread takes a process at this moment
    pid = os.fork()
    if pid == 0:
        signal.alarm(int(LONG_S))
        try:
            theirs = executor.execute(command(do="done"))["pid"]
            executor.close()
            result.write_text(str(theirs))
        finally:
            os._exit(0)
    executor._pool._lock.release()
    os.waitpid(pid, 0)
    theirs = int(result.read_text())
    assert theirs != mine
    _until(lambda: _is_gone(theirs))
    assert executor.execute(command(do="done"))["pid"] == mine


def test_the_environment_and_the_arguments_of_the_process_are_its_own(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNABRIDGED_TEST_TOKEN", "CANARY")
    monkeypatch.setenv("UNABRIDGED_TEST_HOME", "here")
    found = make(output="Names").execute(command(do="look"))
    assert set(found["names"]) <= {"PATH", "PYTHONPATH", "LC_ALL", "LC_CTYPE"}
    assert found["argv"] in ([], ["-P", "-m", "unabridged.actions.executors.worker"])
    more = make(output="Names", inherit=["UNABRIDGED_TEST_HOME"]).execute(command(do="look"))
    assert set(more["names"]) - set(found["names"]) == {"UNABRIDGED_TEST_HOME"}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hides the memory of a process from its own user")
def test_the_memory_of_the_process_is_hidden_from_others_of_its_user(make: Make) -> None:
    assert make().execute(command(do="hidden"))["state"] == "0"


def _a_token(path: Path) -> str:
    """Makes a credential that this process never holds, and returns its digest."""
    program = (
        "import hashlib, os, secrets, sys; t = 'canary' + secrets.token_hex(16);"
        "os.close(os.open(sys.argv[1], os.O_CREAT, 0o600)); open(sys.argv[1], 'w').write(t);"
        "print(hashlib.sha256(t.encode()).hexdigest())"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _held(digest: str) -> list[str]:
    """Returns where this process holds the text of a digest: its objects, its environment, its memory."""
    form = re.compile(rb"canary[0-9a-f]{32}")
    found = []

    def look(where: str, data: bytes) -> None:
        if any(hashlib.sha256(text).hexdigest() == digest for text in form.findall(data)):
            found.append(where)

    for thing in gc.get_objects():
        for part in gc.get_referents(thing):
            if type(part) is str:
                look("a str", part.encode(errors="replace"))
            elif type(part) in (bytes, bytearray):
                look("some bytes", bytes(part))
    look("the environment", repr(dict(os.environ)).encode())
    if sys.platform == "linux":
        look("/proc/self/environ", Path("/proc/self/environ").read_bytes())
        with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
            for line in maps:
                start, _, end = line.split(" ", 1)[0].partition("-")
                if " rw" not in line or "[v" in line:
                    continue
                try:
                    memory.seek(int(start, 16))
                    look("memory", memory.read(int(end, 16) - int(start, 16)))
                except (OSError, ValueError, OverflowError):
                    continue
    return found


def test_the_search_finds_a_credential_that_this_process_does_hold(tmp_path: Path) -> None:
    digest = _a_token(tmp_path / "token")
    assert _held(digest) == []
    holder = [(tmp_path / "token").read_text()]
    assert {"a str", *(["memory"] if sys.platform == "linux" else [])} <= set(_held(digest))
    holder.clear()


def test_the_credential_is_in_no_object_no_environment_and_no_memory_of_this_process(
    make: Make, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    digest = _a_token(token)
    executor = make(options={"folder": str(tmp_path), "token": str(token)}, diagnostics=tmp_path / "kept")
    assert executor.execute(command(do="digest"))["state"] == digest
    assert _failure(executor, do="raises") == ("internal", True)
    assert _failure(executor, do="dies") == ("internal", True)
    assert _held(digest) == []
    for child in executor._pool._all:
        line = Path(f"/proc/{child.process.pid}/cmdline")
        assert not line.exists() or b"canary" not in line.read_bytes()


def test_an_http_executor_runs_there(make: Make, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("not the one of the other test\n")
    token.chmod(0o600)
    with wire(said(200, {"state": "archived", "owner": "CANARY"})) as server:
        executor = make("over_http", options={"origin": server.origin, "token": str(token)})
        assert executor.execute(command(do="x")) == {"state": "archived", "pid": 0}
    assert server.heard[0].header("authorization") == ["Bearer not the one of the other test"]


@pytest.mark.parametrize(
    "wrong",
    [{"factory": "os"}, {"factory": "os.system('x'):y"}, {"factory": 7}, {"outputs": {"a": "model"}}, {"processes": 0},
     {"timeout_s": 0}, {"options": {"x": object()}}, {"max_answer_bytes": 0}],
    ids=repr,
)  # fmt: skip
def test_a_wrong_declaration_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        ProcessExecutor(**{"factory": "a:b", **wrong})


def test_an_executor_shows_its_factory_and_nothing_else(make: Make) -> None:
    executor = make(options={"folder": "CANARY"})
    assert repr(executor) == f"<ProcessExecutor {MADE}:Puppet>"
    assert copy.deepcopy(executor) is executor
    assert "CANARY" not in repr(executor) + str(executor)
    with pytest.raises(InvalidInput):
        pickle.dumps(executor)


def test_parallel_commands_of_many_threads_each_get_their_own_answer(make: Make, tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    executor = make(processes=3)
    barrier = threading.Barrier(8)

    def ask(n: int) -> str:
        if n < 8:
            barrier.wait(LONG_S)
        return str(executor.execute(command(target=n, do="waits"))["state"])

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(ask, range(48))) == [str(n) for n in range(48)]
