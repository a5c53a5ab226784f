"""Reads the pages with dlt's rest_api source into a DuckDB file. Arguments: origin, folder."""

import sys
from pathlib import Path

import dlt
from dlt.sources.rest_api import rest_api_source

origin, folder = sys.argv[1:]
source = rest_api_source(
    {
        "client": {
            "base_url": f"{origin}/v1/",
            "paginator": {"type": "offset", "limit": 100, "total_path": "pagination.total"},
        },
        "resources": [
            {
                "name": "items",
                "primary_key": ["id", "date"],
                "write_disposition": "merge",
                # The first one is a whole number, by which dlt would judge the column; the others are given a schema.
                "columns": {"visibility": {"data_type": "double"}},
                "endpoint": {"path": "items", "data_selector": "data"},
            }
        ],
    },
    # A list of objects stays one column, as the other tools have it.
    max_table_nesting=0,
)
pipeline = dlt.pipeline(
    "pages",
    pipelines_dir=str(Path(folder, "pipelines")),
    destination=dlt.destinations.duckdb(str(Path(folder, "warehouse.duckdb"))),
    dataset_name="raw",
)
pipeline.run(source, loader_file_format="parquet").raise_on_failed_jobs()
