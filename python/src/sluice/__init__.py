"""Runs Sluice from Python, and opens what it publishes."""

from ._command import CommandResult, run
from ._connect import connect, refresh
from ._errors import (
    ConfigError,
    CredentialsError,
    InterruptedSync,
    NotInstalled,
    PartialSync,
    RetryLater,
    SluiceBug,
    SluiceError,
    SourceError,
    StorageError,
)
from ._reports import (
    AccountEnd,
    AccountsReport,
    QueryResult,
    ReportedError,
    RowCounts,
    Status,
    StreamReport,
    StreamStatus,
    SyncReport,
)
from ._sync import query, status, sync, sync_accounts

__all__ = [
    "AccountEnd",
    "AccountsReport",
    "CommandResult",
    "ConfigError",
    "CredentialsError",
    "InterruptedSync",
    "NotInstalled",
    "PartialSync",
    "QueryResult",
    "ReportedError",
    "RetryLater",
    "RowCounts",
    "SluiceBug",
    "SluiceError",
    "SourceError",
    "Status",
    "StorageError",
    "StreamReport",
    "StreamStatus",
    "SyncReport",
    "connect",
    "query",
    "refresh",
    "run",
    "status",
    "sync",
    "sync_accounts",
]

__version__ = "0.1.0"
