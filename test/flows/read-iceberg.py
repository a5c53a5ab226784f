"""Prints sums over a table that pyiceberg reads through the catalog, as JSON."""

import json
import sys

from pyiceberg.catalog import load_catalog

options = json.loads(sys.argv[1])
table = load_catalog("rest", **options["catalog"]).load_table(options["table"])
rows = table.scan().to_arrow().to_pylist()
print(json.dumps({"rows": len(rows), "ids": sum(row["id"] for row in rows), "amounts": sum(row["amount"] for row in rows)}))
