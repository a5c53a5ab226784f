"""Reads a source with PyAirbyte into a cache, and compares the cache with Sluice's own table.

The only argument is JSON: executable, config, cache ({"path"} or {"host", "port", "user", "password", "database"}),
warehouse (the published file; a copy is read). Prints one line of JSON: streams, each with rows and tombstones.
"""

import json
import sys
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path

import airbyte
import duckdb
from airbyte.caches import DuckDBCache, PostgresCache
from sqlalchemy import text

job = json.loads(sys.argv[1])
place = job["cache"]
if "path" in place:
    cache = DuckDBCache(db_path=place["path"], schema_name="raw")
else:
    cache = PostgresCache(
        host=place["host"],
        port=place["port"],
        username=place["user"],
        password=place["password"],
        database=place["database"],
        schema_name="public",
    )


def canon(value):
    """The same text for the same value, whatever a database holds it as."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (int, float, Decimal)):
        return str(Decimal(str(value)).normalize() + 0)
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        return aware.astimezone(timezone.utc).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str) and value[:1] in ("[", "{"):
        return canon(json.loads(value))
    if isinstance(value, (list, dict)):
        return json.dumps(value, sort_keys=True)
    return value


source = airbyte.get_source("source-sluice", local_executable=Path(job["executable"]), config=job["config"])
source.check()
source.select_all_streams()
source.read(cache=cache)

published = duckdb.connect(job["warehouse"], read_only=True)
published.execute("SET TimeZone = 'UTC'")
found = {}
for stream in sorted(source.get_selected_streams()):
    relation = published.execute(f'SELECT * FROM "{stream}"')
    names = [column[0] for column in relation.description if not column[0].startswith("_")]
    wanted = published.execute("SELECT {} FROM \"{}\"".format(", ".join(f'"{name}"' for name in names), stream))
    wanted = sorted(json.dumps([canon(value) for value in row]) for row in wanted.fetchall())
    schema = cache.schema_name
    with cache.get_sql_engine().connect() as connection:
        columns = ", ".join(f'"{name}"' for name in names)
        rows = connection.execute(text(f'SELECT {columns} FROM {schema}."{stream}" WHERE _ab_cdc_deleted_at IS NULL'))
        held = sorted(json.dumps([canon(value) for value in row]) for row in rows)
        deleted = connection.execute(
            text(f'SELECT count(*) FROM {schema}."{stream}" WHERE _ab_cdc_deleted_at IS NOT NULL')
        ).scalar()
    if held != wanted:
        missing = [row for row in wanted if row not in set(held)]
        extra = [row for row in held if row not in set(wanted)]
        sys.exit(f"{stream}: {len(held)} rows instead of {len(wanted)}; missing {missing[:2]}, other {extra[:2]}")
    found[stream] = {"rows": len(held), "deleted": deleted}
print(json.dumps(found))
