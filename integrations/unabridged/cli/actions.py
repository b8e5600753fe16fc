"""`unabridged actions`: what each action of a module takes, gives and needs, as a data map."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from unabridged.contract.errors import InvalidInput, printable_name

if TYPE_CHECKING:
    from unabridged.actions import Action


@click.command()
@click.argument("module")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def actions(ctx: click.Context, module: str, as_json: bool) -> None:
    """Print the data map of each action in MODULE, the name of a module or the path of a Python file.

    The map says what an action is for, what the agent gives (each field with its type, bounds and sensitivity), what
    its executor looks up, what never crosses, what the agent learns, its error codes, and who executes it where. It
    is read from the declarations; the module is imported, and nothing is run.

    Exits with 0, with 1 when the module holds no action or one whose declaration breaks a rule, and with 2 for wrong
    use.
    """
    from unabridged.actions.data_map import lines_of

    try:
        with redirect_stdout(sys.stderr):  # what the module prints is no data map
            found = list(_actions(_imported(module)))
    except InvalidInput as error:
        click.echo(f"a declaration breaks a rule: {error}", err=True)
        ctx.exit(1)
    maps = [action.data_map() for action in found]
    if as_json:
        click.echo(json.dumps(maps, indent=2, ensure_ascii=False))
    else:
        click.echo("\n\n".join("\n".join(lines_of(one)) for one in maps), nl=bool(maps))
    if not maps:
        click.echo("the module holds no action", err=True)
        ctx.exit(1)


def _imported(module: str) -> ModuleType:
    path = Path(module)
    try:
        if path.suffix == ".py":
            return _from(path)
        if str(Path.cwd()) not in sys.path:
            sys.path.insert(0, str(Path.cwd()))
        return importlib.import_module(module)
    except InvalidInput:
        raise
    except ModuleNotFoundError as error:
        name = printable_name(error.name)
        raise click.UsageError(f"the module cannot be imported: there is no module {name} here") from None
    except Exception as error:  # noqa: BLE001 - the module's own code: the kind of its error is told, not its text
        raise click.UsageError(f"the module cannot be imported: {type(error).__name__}") from None


def _from(path: Path) -> ModuleType:
    if not path.is_file():
        raise click.UsageError("there is no such file")
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_of_actions"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent.resolve()))
    spec.loader.exec_module(module)
    return module


def _actions(module: ModuleType) -> Iterator[Action]:
    """Yields the actions that stand in a module, alone or in a list, once each."""
    from unabridged.actions import Action

    seen: set[int] = set()
    for value in vars(module).values():
        for one in _flat(value):
            if isinstance(one, Action) and id(one) not in seen:
                seen.add(id(one))
                yield one


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        yield from value
    elif isinstance(value, Mapping):
        yield from value.values()
    else:
        yield value
