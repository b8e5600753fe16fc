"""What the packages say they export is what they export, and errors survive pickling."""

from __future__ import annotations

import copy
import importlib
import pickle
import pkgutil
from types import ModuleType
from typing import Any

import pytest
import unabridged
from unabridged.contract import UnabridgedError

PACKAGES = [
    "unabridged",
    "unabridged.actions",
    "unabridged.answers",
    "unabridged.audit",
    "unabridged.contract",
    "unabridged.evidence",
    "unabridged.evidence.sql",
    "unabridged.profiles",
    "unabridged.reading",
    "unabridged.testing",
]
ADAPTERS = [("unabridged_langchain", "langchain_core"), ("unabridged_llamaindex", "llama_index.core")]
MAX_TOP_LEVEL_NAMES = 25


def exported(name: str) -> ModuleType:
    module = importlib.import_module(name)
    assert module.__all__, f"{name} says nothing of what it exports"
    return module


@pytest.mark.parametrize("name", PACKAGES)
def test_every_exported_name_is_there_once_and_documented(name: str) -> None:
    module = exported(name)
    assert module.__doc__
    assert len(set(module.__all__)) == len(module.__all__)
    for attribute in module.__all__:
        assert getattr(module, attribute, None) is not None, f"{name}.{attribute}"


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_name_of_a_package_is_exported(name: str) -> None:
    module = exported(name)
    public = {
        n
        for n, value in vars(module).items()
        if not n.startswith("_")
        and not isinstance(value, ModuleType)
        and getattr(value, "__module__", "").startswith(name)
    }
    assert public - set(module.__all__) == set()


@pytest.mark.parametrize(("name", "framework"), ADAPTERS)
def test_the_adapters_export_what_they_say(name: str, framework: str) -> None:
    pytest.importorskip(framework)
    module = exported(name)
    for attribute in module.__all__:
        assert getattr(module, attribute, None) is not None, f"{name}.{attribute}"


def test_the_top_level_stays_small() -> None:
    assert len(unabridged.__all__) <= MAX_TOP_LEVEL_NAMES
    assert set(unabridged.__all__) <= set(dir(unabridged))


def test_a_name_that_is_not_exported_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = unabridged.nonsense


def error_classes() -> list[type[UnabridgedError]]:
    """Every error class of the core, wherever it stands."""
    for package in PACKAGES:
        module = importlib.import_module(package)
        for info in pkgutil.walk_packages(module.__path__, f"{package}."):
            if not info.name.startswith(("unabridged.cli", "unabridged.demo")):
                importlib.import_module(info.name)
    found: list[type[UnabridgedError]] = []
    todo: list[type[UnabridgedError]] = [UnabridgedError]
    while todo:
        kind = todo.pop()
        found.append(kind)
        todo += kind.__subclasses__()
    return sorted(set(found), key=lambda k: k.__name__)


SAMPLES: dict[str, Any] = {
    "reply": None,
    "codes": ("RATE_LIMITED",),
    "sent": 3,
    "problems": (("low", "must be an integer"),),
}


@pytest.mark.parametrize("kind", error_classes(), ids=lambda k: k.__name__)
def test_every_error_survives_pickling_and_copying(kind: type[UnabridgedError]) -> None:
    names = [n for n in kind.__init__.__annotations__ if n not in ("return", "fields")]
    error = kind(**{n: SAMPLES.get(n, "x") for n in names})
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert (type(again), str(again), again.fields) == (kind, str(error), error.fields)
