"""Opens the published file with DuckDB."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Mapping, Optional, Tuple

from ._command import PathLike
from ._errors import ConfigError, NotInstalled
from ._sync import status

if TYPE_CHECKING:
    import duckdb

_CONFIGS = (".yaml", ".yml", ".json")
# Names of the engine's own databases.
_TAKEN = ("main", "memory", "system", "temp")


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
    if not os.path.exists(path):
        raise ConfigError(
            f"there is no published file at {path} yet",
            code="query_failed",
            hint="Run sluice.sync() first.",
            exit_code=2,
        )
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
    try:
        _attach(con, _name(path), path)
    except BaseException:
        con.close()
        raise
    return con


def refresh(con: duckdb.DuckDBPyConnection) -> None:
    """Shows the newest published file in a connection of :func:`connect`. Temporary tables stay."""
    name, path = _attached(con)
    con.execute("USE memory")
    try:
        con.execute(f"DETACH {_quote(name)}")
    finally:
        # Whatever failed, the connection shows a file again.
        if _is_attached(con, name):
            con.execute(f"USE {_quote(name)}")
    _attach(con, name, path)


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


def _attach(con: duckdb.DuckDBPyConnection, name: str, path: str) -> None:
    # In an engine of its own: connections to one path share one, and would show the oldest of them.
    con.execute(f"ATTACH {_text(path)} AS {_quote(name)} (READ_ONLY)")
    con.execute(f"USE {_quote(name)}")


def _attached(con: duckdb.DuckDBPyConnection) -> Tuple[str, str]:
    row = con.execute(
        "SELECT database_name, path FROM duckdb_databases() "
        "WHERE NOT internal AND path IS NOT NULL AND readonly ORDER BY database_name <> current_database()"
    ).fetchone()
    if row is None:
        raise ConfigError(
            "the connection has no published file open",
            code="usage_invalid",
            hint="Pass one that sluice.connect() returned.",
            exit_code=2,
        )
    return str(row[0]), str(row[1])


def _is_attached(con: duckdb.DuckDBPyConnection, name: str) -> bool:
    found = con.execute("SELECT 1 FROM duckdb_databases() WHERE database_name = ?", [name])
    return found.fetchone() is not None


def _name(path: str) -> str:
    """The name of the file's database, as DuckDB gives it: ``warehouse`` for ``warehouse.duckdb``."""
    name = next((part for part in os.path.basename(path).split(".") if part), "warehouse")
    return f"{name}_db" if name.lower() in _TAKEN else name


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"

