"""Opens the published file with DuckDB."""

from __future__ import annotations

import os
from threading import Lock
from typing import TYPE_CHECKING, Mapping, Optional, Tuple
from weakref import WeakKeyDictionary

from ._command import PathLike
from ._errors import ConfigError, NotInstalled, RetryLater, StorageError
from ._sync import status

if TYPE_CHECKING:
    import duckdb

_CONFIGS = (".yaml", ".yml", ".json")
# Names of the engine's own databases.
_TAKEN = ("main", "memory", "system", "temp")
# How the engine says that a file is open elsewhere.
_LOCKED = ("Could not set lock", "being used by another process", "Unique file handle conflict")
# Name and path of the file of each connection, also while the file is gone.
_OPENED: WeakKeyDictionary[duckdb.DuckDBPyConnection, Tuple[str, str]] = WeakKeyDictionary()
_EXCHANGING = Lock()


def connect(
    source: Optional[PathLike] = None,
    *,
    account: Optional[str] = None,
    env: Optional[Mapping[str, str]] = None,
) -> duckdb.DuckDBPyConnection:
    """Opens the published file, or the lake's ``lake.duckdb``, read-only; syncs go on meanwhile.

    The connection shows the file as it is now. :func:`refresh` shows a newer one. Tables of your own can be made with
    ``CREATE TEMP TABLE``.

    :param source: the file, or a config that names it; ``./sluice.yaml`` when left out
    :param account: one of the accounts of the config
    """
    path = _find_file(source, account, env)
    _assert_published(path)
    try:
        import duckdb
    except ImportError as cause:
        raise NotInstalled(
            "the package duckdb is not installed, and connect() needs it",
            code="not_installed",
            hint="Run pip install duckdb pytz.",
            exit_code=2,
        ) from cause
    con = duckdb.connect()
    name = _name(path)
    try:
        _execute(con, f"{_attach(name, path)}; {_use(name)}", path)
    except BaseException:
        con.close()
        raise
    _OPENED[con] = (name, path)
    return con


def refresh(con: duckdb.DuckDBPyConnection) -> None:
    """Shows the newest published file in a connection of :func:`connect`.

    Temporary tables stay, and so does the schema in use. Where it raises, the connection shows what it did before. Its
    cursors see the newer file as well, those within a transaction after the end of that. While the file is exchanged, a
    statement of another thread may miss it.

    :raises ConfigError: within a transaction, or if the connection is closed or in use, or the file is gone
    :raises StorageError: if the newer file cannot be opened
    :raises RetryLater: if it is open for writing
    """
    with _EXCHANGING:
        _assert_idle(con)
        name, path = _opened(con)
        _try_out(path)
        # A cursor has its own USE, so that this connection keeps the one that it has.
        exchange = con.cursor()
        try:
            # One call: nothing can interrupt it between the two statements.
            _execute(exchange, f"DETACH DATABASE IF EXISTS {_quote(name)}; {_attach(name, path)}", path)
        except BaseException:
            # Gone since it was tried out: temporary tables stay readable, and a later call finds the file again.
            _OPENED[con] = (name, path)
            if _find_used(con) is None:
                con.execute("USE memory.main")
            raise
        finally:
            exchange.close()
        _use_again(con, name)


def _find_file(source: Optional[PathLike], account: Optional[str], env: Optional[Mapping[str, str]]) -> str:
    if source is None or os.fspath(source).lower().endswith(_CONFIGS):
        return status(source, account=account, env=env).path
    if account is not None:
        raise ConfigError(
            "account= names an account of a config, and this is a file",
            code="usage_invalid",
            hint="Name the config, or leave out account=.",
            exit_code=2,
        )
    return os.path.abspath(os.fspath(source))


def _assert_idle(con: duckdb.DuckDBPyConnection) -> None:
    import duckdb

    number = "SELECT current_transaction_id()"
    try:
        # Outside a transaction each statement is one of its own.
        is_idle = _fetch(con, number) != _fetch(con, number)
    except duckdb.TransactionException:
        is_idle = False
    except duckdb.Error as cause:
        raise ConfigError(
            f"the connection cannot be used: {_first_line(cause)}",
            code="usage_invalid",
            hint="If another thread uses it, call refresh() after that; else open a new one with sluice.connect().",
            exit_code=2,
        ) from cause
    if not is_idle:
        raise ConfigError(
            "refresh() cannot run within a transaction",
            code="usage_invalid",
            hint="Nothing was changed. End it with COMMIT or ROLLBACK, then call refresh() again.",
            exit_code=2,
        )


def _opened(con: duckdb.DuckDBPyConnection) -> Tuple[str, str]:
    """Name and path of what :func:`connect` opened. A cursor of its connection is asked what is attached."""
    if con in _OPENED:
        return _OPENED[con]
    row = _fetch(
        con,
        "SELECT database_name, path FROM duckdb_databases() "
        "WHERE NOT internal AND path IS NOT NULL AND readonly ORDER BY database_name <> current_database()",
    )
    if row is None:
        raise ConfigError(
            "the connection has no published file open",
            code="usage_invalid",
            hint="Pass one that sluice.connect() returned.",
            exit_code=2,
        )
    return str(row[0]), str(row[1])


def _try_out(path: str) -> None:
    """Opens the file elsewhere first: the older one cannot be opened again once it is detached."""
    import duckdb

    _assert_published(path)
    with duckdb.connect() as trial:
        _execute(trial, _attach("trial", path), path)


def _use_again(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """Keeps the schema in use, unless the newer file lacks it or none was chosen."""
    if _find_used(con) in (None, "memory"):
        con.execute(_use(name))


def _find_used(con: duckdb.DuckDBPyConnection) -> Optional[str]:
    """The database in use; ``None`` where it or its schema is gone, so that hardly a statement runs."""
    import duckdb

    try:
        row = _fetch(con, "SELECT current_database()")
    except duckdb.Error:
        return None
    return None if row is None else str(row[0])


def _fetch(con: duckdb.DuckDBPyConnection, sql: str) -> Optional[Tuple[object, ...]]:
    """The first row. All rows are fetched: DuckDB 2 refuses a relation while a result has more."""
    rows = con.execute(sql).fetchall()
    return rows[0] if rows else None


def _assert_published(path: str) -> None:
    if not os.path.exists(path):
        raise ConfigError(
            f"there is no published file at {path} yet",
            code="query_failed",
            hint="Run sluice.sync() first.",
            exit_code=2,
        )


def _execute(con: duckdb.DuckDBPyConnection, sql: str, path: str) -> None:
    """Runs statements that open the file; a failure says what to do."""
    import duckdb

    try:
        con.execute(sql)
    except duckdb.Error as cause:
        words = _first_line(cause)
        message = f"{path} cannot be opened: {words}"
        if any(sign in words for sign in _LOCKED):
            hint = "It is open for writing, here or in another program. Try again when it is closed."
            raise RetryLater(message, code="state_locked", hint=hint, exit_code=75) from cause
        if "we can only read" in words:
            hint = "Upgrade the package duckdb: pip install --upgrade duckdb."
        else:
            hint = "Check its permissions. If it is damaged, sluice.sync() publishes it again from the state folder."
        raise StorageError(message, code="storage_failed", hint=hint, exit_code=6) from cause


def _first_line(cause: BaseException) -> str:
    return str(cause).split("\n", 1)[0]


def _name(path: str) -> str:
    """The name of the file's database, as DuckDB gives it: ``warehouse`` for ``warehouse.duckdb``."""
    name = next((part for part in os.path.basename(path).split(".") if part), "warehouse")
    return f"{name}_db" if name.lower() in _TAKEN else name


def _attach(name: str, path: str) -> str:
    # In an engine of its own: connections to one path share one, and would show the oldest of them.
    return f"ATTACH {_text(path)} AS {_quote(name)} (READ_ONLY)"


def _use(name: str) -> str:
    # With the schema: a name alone may be that of a schema, as of information_schema.duckdb.
    return f"USE {_quote(name)}.main"


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"

