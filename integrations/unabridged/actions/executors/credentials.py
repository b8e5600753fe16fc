"""Credentials: where an executor gets what opens a provider's door, and the wrapper that keeps it out of sight.

```
FromFile         a file that others cannot read, read anew for each command
FromKeyring      the keyring of the operating system (extra `keyring`)
FromCallable     a function of yours: a vault, an exchange of tokens
FromEnvironment  an environment variable, which is gone once it was taken
```

A provider is asked after a command was validated, right before it is sent. Its errors name a rule, never a value.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Callable
from typing import Any, Final, NoReturn, Protocol, final

from unabridged.contract import InvalidInput, MissingExtra, UnabridgedError

_SHOWN: Final = "<credential>"
_MOST: Final = 16_384
_WORLD: Final = stat.S_IROTH | stat.S_IWOTH | stat.S_IXOTH | stat.S_IWGRP
_UNFIT: Final = "must be 1 to 16,384 printable ASCII characters on one line"
_PICKLE: Final = "is never pickled: make its provider where it is used"


class CredentialUnavailable(UnabridgedError):
    """A credential could not be had, or cannot be one. What was found instead is not told.

    Args of the constructor:
        rule: what it must be.
    """

    def __init__(self, *, rule: str) -> None:
        super().__init__(rule=rule)

    def _message(self, **fields: Any) -> str:
        return f"the credential {fields['rule']}"


@final
class Secret:
    """A value that shows itself nowhere: not in a repr, a format, JSON, a pickle or a copy, nor as an attribute.

    It is no wall against code of the same process, which can call `reveal` as well; see `ProcessExecutor` for one.

    Raises:
        CredentialUnavailable: the value is not one line of 1 to 16,384 printable ASCII characters.
    """

    __slots__ = ("_open",)

    def __init__(self, value: str) -> None:
        if not _fits(value):
            value = ""  # an error shows the variables of its frame
            raise CredentialUnavailable(rule=_UNFIT)

        def opened() -> str:
            return value

        self._open: Callable[[], str] = opened

    def reveal(self) -> str:
        """Returns the value. Keep it in no variable of a frame that an error can pass through."""
        return self._open()

    def __repr__(self) -> str:
        return _SHOWN

    def __format__(self, spec: str) -> str:
        return _SHOWN

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, _: Any) -> Secret:
        return self

    def __reduce_ex__(self, _: Any) -> NoReturn:
        raise InvalidInput(field="credential", rule=_PICKLE)


class Credential(Protocol):
    """A provider of credentials."""

    def take(self) -> Secret:
        """Returns the credential as it is now.

        Raises:
            CredentialUnavailable: it cannot be had.
        """


class _Provider:
    """What all providers share: their repr and their copies say nothing, and no pickle carries them off."""

    def take(self) -> Secret:
        """Returns the credential as it is now.

        Raises:
            CredentialUnavailable: it cannot be had.
        """
        found = _taken(self._read)
        if isinstance(found, str):
            raise CredentialUnavailable(rule=found)
        return found

    def _read(self) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, _: Any) -> Any:
        return self

    def __reduce_ex__(self, _: Any) -> NoReturn:
        raise InvalidInput(field="credential", rule=_PICKLE)


class _Unfit(Exception):
    """A rule that what was found breaks."""


def _taken(read: Callable[[], Any]) -> Secret | str:
    """Returns a credential, or the rule that failed. No error leaves: its frames would show what was read."""
    try:
        value = read()
    except _Unfit as unfit:
        return str(unfit)
    except MissingExtra:
        raise
    except Exception:  # noqa: BLE001 - a provider of the caller may raise anything, and may quote the value
        return "cannot be had: its provider failed"
    if isinstance(value, Secret):
        return value
    return Secret(value) if _fits(value) else _UNFIT


def _fits(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _MOST and value.isascii() and value.isprintable()


class FromFile(_Provider):
    """Reads a file anew for each command, so that a rotated credential is used at once. A last line break is dropped.

    Args of the constructor:
        path: the file. It must be a plain file that others can neither read nor write, and that its group cannot write.
        group_readable: whether its group may read it, as with mounted secrets.
    """

    def __init__(self, path: str | os.PathLike[str], *, group_readable: bool = False) -> None:
        self._path = os.fspath(path)
        self._forbidden = _WORLD if group_readable else _WORLD | stat.S_IRGRP

    def _read(self) -> str:
        try:
            descriptor = os.open(self._path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        except OSError:
            raise _Unfit("cannot be had: its file cannot be opened") from None
        with open(descriptor, "rb") as file:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                raise _Unfit("must stand in a plain file")
            if os.name == "posix" and about.st_mode & self._forbidden:
                raise _Unfit("must stand in a file that others cannot read; run: chmod 600 FILE")
            text = file.read(_MOST + 3)
        return text.decode("ascii").removesuffix("\n").removesuffix("\r")


class FromKeyring(_Provider):
    """Asks the keyring of the operating system for each command (extra `keyring`).

    Args of the constructor:
        service: the name of the service in the keyring.
        user: the name of the user there.
    """

    def __init__(self, service: str, user: str) -> None:
        self._service = service
        self._user = user

    def _read(self) -> str:
        try:
            import keyring
        except ModuleNotFoundError as error:
            if error.name != "keyring":
                raise
            raise MissingExtra(extra="keyring", module="keyring") from None
        found: str | None = keyring.get_password(self._service, self._user)
        if found is None:
            raise _Unfit("cannot be had: the keyring has no such entry")
        return found


class FromCallable(_Provider):
    """Asks a function for each command. What it raises is dropped, since it may quote the value.

    Args of the constructor:
        function: takes nothing and returns the value, or a `Secret`.
    """

    def __init__(self, function: Callable[[], str | Secret]) -> None:
        if not callable(function):
            raise InvalidInput(field="function", rule="must be callable without arguments")
        self._function = function

    def _read(self) -> Any:
        return self._function()


class FromEnvironment(_Provider):
    """Takes an environment variable when it is made, and removes it: no later child and no tool can read it.

    Where the C library lets it, the value is also wiped from the block that the process was started with, which
    `/proc/PID/environ` shows. Whoever started the process may still have it, and so may earlier children.

    Args of the constructor:
        name: the name of the variable.

    Raises:
        CredentialUnavailable: there is no such variable, or it is empty.
    """

    def __init__(self, name: str) -> None:
        if not name or "=" in name or "\0" in name:
            raise InvalidInput(field="name", rule="must be the name of an environment variable")
        found = _taken(lambda: _pulled(name))
        if isinstance(found, str):
            raise CredentialUnavailable(rule=found)
        self._secret = found

    def _read(self) -> Secret:
        return self._secret


def _pulled(name: str) -> str:
    if name not in os.environ:
        raise _Unfit("cannot be had: its environment variable is not set")
    _wipe(name)
    return os.environ.pop(name)


def _wipe(name: str) -> None:
    """Overwrites the value where the process was started with it: removing a variable leaves its bytes there."""
    if os.name != "posix":
        return
    try:
        getenv = ctypes.CDLL(None).getenv
        getenv.restype, getenv.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
        place = getenv(os.fsencode(name))
        if place:
            ctypes.memset(place, 0, len(ctypes.string_at(place)))
    except (AttributeError, OSError):
        return
