"""Counts what a tool left. Arguments: file, table with its schema, packages. Prints JSON: rows, keys, versions.

Run by the tool's own Python, whose DuckDB is the one that can read the file for certain.
"""

import json
import sys
from importlib.metadata import version

import duckdb

file, table, *packages = sys.argv[1:]
connection = duckdb.connect(file, read_only=True)
# PyAirbyte keeps what it read as it came, so the same record may be there twice.
rows, keys = connection.execute(f"SELECT count(*), count(DISTINCT (id, date)) FROM {table}").fetchone()
print(json.dumps({"rows": rows, "keys": keys, "versions": {name: version(name) for name in packages}}))
