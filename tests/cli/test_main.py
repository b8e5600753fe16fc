"""The command line as a whole: help, version, wrong use, and what it must not import."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("click")

from click.testing import CliRunner
from unabridged.cli.app import COMMANDS, cli


def python(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, check=False)


def test_help_lists_every_command() -> None:
    result = CliRunner().invoke(cli, ["--help"])
    assert result.exit_code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in result.output


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_a_help_of_its_own(name: str) -> None:
    result = CliRunner().invoke(cli, [name, "--help"])
    assert result.exit_code == 0
    assert len(result.output.splitlines()) > 4


def test_the_version_is_told() -> None:
    result = CliRunner().invoke(cli, ["--version"])
    assert result.exit_code == 0
    assert result.output.startswith("unabridged 0.")


@pytest.mark.parametrize("args", [["nonsense"], ["--nonsense"], ["replay"], ["replay", "--nonsense", "x"]])
def test_wrong_use_exits_with_2_and_says_so_on_stderr(args: list[str]) -> None:
    result = CliRunner().invoke(cli, args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Usage: " in result.stderr


def test_without_click_the_install_command_is_told_and_the_exit_code_is_2() -> None:
    result = python("-c", "import sys\nsys.modules['click'] = None\nfrom unabridged.cli.main import main\nmain()")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == "unabridged: click is not installed; run: pip install 'unabridged[cli]'\n"


@pytest.mark.parametrize("args", ["--version", "--help", "replay --help", "demo --help", "read --help", "profiles"])
def test_starting_the_command_line_imports_no_framework_and_no_http_client(args: str) -> None:
    script = (
        "import sys\n"
        f"sys.argv = ['unabridged', *{args.split()!r}]\n"
        "from unabridged.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "roots = {m.partition('.')[0] for m in sys.modules}\n"
        "bad = roots & {'unabridged_langchain', 'unabridged_llamaindex', 'langchain_core', 'langchain', 'langgraph',"
        " 'llama_index', 'httpx', 'tenacity', 'psycopg', 'starlette'}\n"
        "assert not bad, bad\n"
    )
    result = python("-c", script)
    assert result.returncode == 0, result.stderr


def test_the_module_runs_as_a_program() -> None:
    result = python("-m", "unabridged.cli.main", "--version")
    assert result.returncode == 0
    assert result.stdout.startswith("unabridged ")
