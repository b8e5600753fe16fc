"""What can go wrong with an audit log.

```
UnabridgedError
├── AuditFailed           an event could not be recorded: what it speaks of must not run
└── InvalidInput
    └── AuditKeyMissing   an audit log was asked for without a key
```
"""

from __future__ import annotations

import errno
from typing import Any

from unabridged.contract.errors import InvalidInput, UnabridgedError

_SAID: dict[int | None, str] = {
    errno.ENOSPC: "no space is left",
    errno.EDQUOT: "no space is left",
    errno.EFBIG: "the file may not grow any more",
    errno.EIO: "the device failed",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "it may not be written",
    errno.EPERM: "it may not be written",
    errno.ENOENT: "its file or its folder is gone",
    errno.EMFILE: "too many files are open",
    errno.ENFILE: "too many files are open",
}


class AuditFailed(UnabridgedError):
    """An event could not be recorded, so what it speaks of must not run.

    Args of the constructor:
        rule: why, in words of ours.
    """

    def __init__(self, *, rule: str) -> None:
        super().__init__(rule=rule)

    def _message(self, **fields: Any) -> str:
        return f"the audit log failed: {fields['rule']}"


class AuditKeyMissing(InvalidInput):
    """A log was asked for without a key. Its digests would be plain hashes, which a list of candidates undoes."""

    def __init__(
        self, *, field: str = "audit.key", rule: str = "is required: an audit log keeps keyed digests"
    ) -> None:
        super().__init__(field=field, rule=rule)


def why(error: OSError) -> str:
    """Returns the reason of a failed system call, without the path that its own message names."""
    return _SAID.get(error.errno, "a system call failed")
