"""The commands that most programs need, with types."""

from __future__ import annotations

from datetime import date
from typing import Any, List, Mapping, Optional, Sequence, TypeVar, Union

from ._command import CommandResult, PathLike, execute, run, to_error
from ._errors import ConfigError
from ._reports import (
    AccountsReport,
    QueryResult,
    Status,
    SyncReport,
    read_accounts,
    read_rows,
    read_run,
    read_status,
)

Names = Optional[Sequence[str]]


def sync(
    config: Optional[PathLike] = None,
    *,
    streams: Names = None,
    from_date: Optional[Union[date, str]] = None,
    full_refresh: bool = False,
    force: bool = False,
    limit: Optional[int] = None,
    max_requests: Optional[int] = None,
    max_wait: Optional[str] = None,
    deadline: Optional[str] = None,
    allow_empty: bool = False,
    strict: bool = False,
    run_id: Optional[str] = None,
    env: Optional[Mapping[str, str]] = None,
    quiet: bool = False,
) -> SyncReport:
    """Syncs once. For a config with accounts see :func:`sync_accounts`.

    :param config: the config file; ``./sluice.yaml`` when left out
    :param max_wait: how long to wait for the quota, as ``"0"`` or ``"30m"``
    :param env: variables in addition to those of this process; the place for a key
    :raises RetryLater: progress is saved; ``resume_at`` says when to run again, where that is known
    :raises SluiceError: with ``report``, where the run had one
    """
    chosen = _flags(
        streams=streams,
        from_date=from_date,
        full_refresh=full_refresh,
        force=force,
        limit=limit,
        max_requests=max_requests,
        max_wait=max_wait,
        deadline=deadline,
        allow_empty=allow_empty,
        strict=strict,
        run_id=run_id,
    )
    outcome = execute(["sync", *chosen], config=config, env=env, quiet=quiet)
    found = outcome.result
    if isinstance(found, dict) and "accounts" in found:
        raise _of_accounts("sync_accounts()")
    report = read_run(found) if isinstance(found, dict) else None
    return _report_or_raise(outcome, report)


def sync_accounts(
    config: Optional[PathLike] = None,
    *,
    accounts: Names = None,
    streams: Names = None,
    max_requests: Optional[int] = None,
    max_wait: Optional[str] = None,
    deadline: Optional[str] = None,
    env: Optional[Mapping[str, str]] = None,
    quiet: bool = False,
) -> AccountsReport:
    """Syncs the accounts of a config, or those that are named; ``*`` stands for any text.

    :raises SluiceError: if one of them failed; its ``report`` has how each ended
    """
    chosen = _flags(
        accounts=["*"] if accounts is None else accounts,
        streams=streams,
        max_requests=max_requests,
        max_wait=max_wait,
        deadline=deadline,
    )
    outcome = execute(["sync", *chosen], config=config, env=env, quiet=quiet)
    found = outcome.result
    report = read_accounts(found) if isinstance(found, dict) else None
    return _report_or_raise(outcome, report)


def status(
    config: Optional[PathLike] = None,
    *,
    account: Optional[str] = None,
    env: Optional[Mapping[str, str]] = None,
) -> Status:
    """How fresh and how complete the data is: no request, no key, no lock."""
    found = run("status", *_flags(accounts=_one(account)), config=config, env=env, quiet=True).result
    if "accounts" not in found:
        return read_status(found)
    if account is None:
        raise _of_accounts("account=, or run('status')")
    (one,) = found["accounts"]
    if one["status"] is not None:
        return read_status(one["status"])
    outcome = CommandResult("status", 2, "the status cannot be read", None, one["error"])
    raise to_error(outcome)


def query(
    sql: str,
    config: Optional[PathLike] = None,
    *,
    accounts: Names = None,
    env: Optional[Mapping[str, str]] = None,
) -> QueryResult:
    """Rows of one statement over the published file. For many rows :func:`connect` is faster."""
    return read_rows(run("query", *_flags(accounts=accounts), "--", sql, config=config, env=env, quiet=True).result)


def _one(account: Optional[str]) -> Names:
    return None if account is None else [account]


def _flags(**values: Any) -> List[str]:
    """Options as words: names with dashes, lists with commas. What was not given has none."""
    words: List[str] = []
    for name, value in values.items():
        flag = "--from" if name == "from_date" else f"--{name.replace('_', '-')}"
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        else:
            text = ",".join(value) if isinstance(value, (list, tuple)) else str(value)
            # One word, so that a value which begins with a dash is still a value.
            words.append(f"{flag}={text}")
    return words


_Report = TypeVar("_Report", SyncReport, AccountsReport)


def _report_or_raise(outcome: CommandResult, report: Optional[_Report]) -> _Report:
    if outcome.exit_code == 0 and report is not None:
        return report
    error = to_error(outcome, _find_resume(outcome.result))
    error.report = report
    raise error


def _find_resume(result: Any) -> Any:
    """When to run again: of the run, else of the error that ended it."""
    if not isinstance(result, dict):
        return None
    return result.get("resumeAt") or (result.get("error") or {}).get("resumeAt")


def _of_accounts(instead: str) -> ConfigError:
    return ConfigError(
        "the config has accounts",
        code="usage_invalid",
        hint=f"Use {instead}.",
        exit_code=2,
    )
