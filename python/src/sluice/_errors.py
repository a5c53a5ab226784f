"""One class for each kind of exit code."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Dict, Optional, Type, Union

if TYPE_CHECKING:
    from ._reports import AccountsReport, SyncReport


class SluiceError(Exception):
    """What failed, and what to do: every error of this package is one."""

    def __init__(
        self,
        message: str,
        *,
        code: str,
        hint: str = "",
        exit_code: int,
        resume_at: Optional[datetime] = None,
    ) -> None:
        super().__init__(f"{message}\n{hint}" if hint else message)
        self.message = message
        #: The stable name of the error, as ``config_invalid``; docs/errors.md lists all of them.
        self.code = code
        self.hint = hint
        self.exit_code = exit_code
        #: When running again makes progress, where that is known.
        self.resume_at = resume_at
        #: The report of a sync that had one.
        self.report: Optional[Union[SyncReport, AccountsReport]] = None


class NotInstalled(SluiceError):
    """There is no program to run, or no ``duckdb`` to open a file with."""


class SluiceBug(SluiceError):
    """A defect of Sluice, or an answer that is not one: exit code 1."""


class ConfigError(SluiceError):
    """The config, or how it was called: exit code 2."""


class CredentialsError(SluiceError):
    """The key was refused: exit code 3."""


class SourceError(SluiceError):
    """The API sent what it should not: exit code 4."""


class PartialSync(SluiceError):
    """Some streams failed, the others are committed: exit code 5."""


class StorageError(SluiceError):
    """Disk, permissions, a damaged file: exit code 6."""


class RetryLater(SluiceError):
    """Try again later, progress is saved: exit code 75."""


class InterruptedSync(SluiceError):
    """Stopped by a signal: exit codes 130 and 143."""


_CLASSES: Dict[int, Type[SluiceError]] = {
    1: SluiceBug,
    2: ConfigError,
    3: CredentialsError,
    4: SourceError,
    5: PartialSync,
    6: StorageError,
    75: RetryLater,
    130: InterruptedSync,
    143: InterruptedSync,
}


def class_of(exit_code: int) -> Type[SluiceError]:
    """The class for an exit code. A program killed by a signal has a negative one."""
    return _CLASSES.get(exit_code, InterruptedSync if exit_code < 0 else SluiceBug)
