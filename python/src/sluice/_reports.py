"""What Sluice reports, with types. ``raw`` has all of it as JSON gave it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Mapping, Optional, Tuple

Json = Mapping[str, Any]


@dataclass(frozen=True)
class RowCounts:
    read: int
    inserted: int
    updated: int
    unchanged: int
    deleted: int
    quarantined: int


@dataclass(frozen=True)
class ReportedError:
    code: str
    message: str
    hint: str
    exit_code: int
    resume_at: Optional[datetime]


@dataclass(frozen=True)
class StreamReport:
    """One stream, or one slice of it, in a run."""

    stream: str
    slice: str
    table: str
    #: complete, fresh, unavailable, failed, stopped or not-run
    status: str
    #: verified, unverified, drifted or partial; None if nothing was read
    verdict: Optional[str]
    reasons: Tuple[str, ...]
    rows: RowCounts
    rows_in_table: Optional[int]
    rows_in_api: Optional[int]
    requests: int
    watermark: Optional[str]
    error: Optional[ReportedError]
    raw: Json = field(repr=False, compare=False)


@dataclass(frozen=True)
class SyncReport:
    """One run of ``sync``."""

    run_id: str
    status: str
    exit_code: int
    started_at: Optional[datetime]
    finished_at: Optional[datetime]
    requests: int
    rows: RowCounts
    streams: Tuple[StreamReport, ...]
    warnings: Tuple[str, ...]
    #: The file that readers open; None if nothing was published.
    published: Optional[str]
    resume_at: Optional[datetime]
    error: Optional[ReportedError]
    raw: Json = field(repr=False, compare=False)


@dataclass(frozen=True)
class AccountEnd:
    """How one account ended."""

    account: str
    exit_code: int
    report: Optional[SyncReport]
    resume_at: Optional[datetime]
    error: Optional[ReportedError]


@dataclass(frozen=True)
class AccountsReport:
    """A sync of several accounts."""

    exit_code: int
    accounts: Tuple[AccountEnd, ...]
    resume_at: Optional[datetime]
    warnings: Tuple[str, ...]
    error: Optional[ReportedError]
    raw: Json = field(repr=False, compare=False)


@dataclass(frozen=True)
class StreamStatus:
    stream: str
    slice: str
    verdict: Optional[str]
    rows: Optional[int]
    fresh: bool
    verified_at: Optional[datetime]
    watermark: Optional[str]
    quarantined: int
    raw: Json = field(repr=False, compare=False)


@dataclass(frozen=True)
class Status:
    """How fresh and how complete the data is."""

    #: The file that readers open, whether or not it is there.
    path: str
    streams: Tuple[StreamStatus, ...]
    quarantined: int
    raw: Json = field(repr=False, compare=False)


@dataclass(frozen=True)
class QueryResult:
    """Rows of a query. Integers that a JSON number may not hold are ``str``."""

    columns: Tuple[str, ...]
    types: Tuple[str, ...]
    rows: Tuple[Tuple[Any, ...], ...]


def read_time(text: Any) -> Optional[datetime]:
    """A time of a report; Python before 3.11 does not know the Z."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if isinstance(text, str) else None


def read_error(found: Optional[Json]) -> Optional[ReportedError]:
    if found is None:
        return None
    return ReportedError(
        code=found["code"],
        message=found["message"],
        hint=found.get("hint", ""),
        exit_code=found.get("exitCode", 1),
        resume_at=read_time(found.get("resumeAt")),
    )


def read_run(found: Json) -> SyncReport:
    published = found.get("published")
    return SyncReport(
        run_id=found["runId"],
        status=found["status"],
        exit_code=found["exitCode"],
        started_at=read_time(found.get("startedAt")),
        finished_at=read_time(found.get("finishedAt")),
        requests=found["requests"],
        rows=_read_rows(found["rows"]),
        streams=tuple(_read_stream(stream) for stream in found["streams"]),
        warnings=tuple(found.get("warnings", ())),
        published=None if published is None else published.get("path"),
        resume_at=read_time(found.get("resumeAt")),
        error=read_error(found.get("error")),
        raw=found,
    )


def read_accounts(found: Json) -> AccountsReport:
    return AccountsReport(
        exit_code=found["exitCode"],
        accounts=tuple(_read_account(one) for one in found["accounts"]),
        resume_at=read_time(found.get("resumeAt")),
        warnings=tuple(found.get("warnings", ())),
        error=read_error(found.get("error")),
        raw=found,
    )


def read_status(found: Json) -> Status:
    return Status(
        path=found["duckdbPath"],
        streams=tuple(_read_stream_status(stream) for stream in found["streams"]),
        quarantined=found["quarantined"],
        raw=found,
    )


def read_rows(found: Json) -> QueryResult:
    return QueryResult(
        columns=tuple(column["name"] for column in found["columns"]),
        types=tuple(column["type"] for column in found["columns"]),
        rows=tuple(tuple(row) for row in found["rows"]),
    )


def _read_account(found: Json) -> AccountEnd:
    report = found.get("report")
    return AccountEnd(
        account=found["account"],
        exit_code=found["exitCode"],
        report=None if report is None else read_run(report),
        resume_at=read_time(found.get("resumeAt")),
        error=read_error(found.get("error")),
    )


def _read_rows(found: Json) -> RowCounts:
    return RowCounts(
        read=found["read"],
        inserted=found["inserted"],
        updated=found["updated"],
        unchanged=found["unchanged"],
        deleted=found["deleted"],
        quarantined=found["quarantined"],
    )


def _read_stream(found: Json) -> StreamReport:
    return StreamReport(
        stream=found["stream"],
        slice=found["slice"],
        table=found["table"],
        status=found["status"],
        verdict=found.get("verdict"),
        reasons=tuple(found.get("reasons", ())),
        rows=_read_rows(found["rows"]),
        rows_in_table=found.get("rowsInTable"),
        rows_in_api=found.get("rowsInApi"),
        requests=found["requests"],
        watermark=found.get("watermark"),
        error=read_error(found.get("error")),
        raw=found,
    )


def _read_stream_status(found: Json) -> StreamStatus:
    return StreamStatus(
        stream=found["stream"],
        slice=found["slice"],
        verdict=found.get("verdict"),
        rows=found.get("rows"),
        fresh=found["fresh"],
        verified_at=read_time(found.get("verifiedAt")),
        watermark=found.get("watermark"),
        quarantined=found["quarantined"],
        raw=found,
    )
