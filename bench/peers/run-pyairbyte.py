"""Reads the pages with a declarative source of PyAirbyte into its DuckDB cache. Arguments: origin, folder."""

import sys
from pathlib import Path

import airbyte
from airbyte.caches import DuckDBCache
from record_schema import RECORD_SCHEMA

origin, folder = sys.argv[1:]
manifest = {
    "version": "6.0.0",
    "type": "DeclarativeSource",
    "check": {"type": "CheckStream", "stream_names": ["items"]},
    "streams": [
        {
            "type": "DeclarativeStream",
            "name": "items",
            "primary_key": ["id", "date"],
            "schema_loader": {"type": "InlineSchemaLoader", "schema": RECORD_SCHEMA},
            "retriever": {
                "type": "SimpleRetriever",
                "requester": {
                    "type": "HttpRequester",
                    "url_base": f"{origin}/v1",
                    "path": "/items",
                    "http_method": "GET",
                },
                "record_selector": {
                    "type": "RecordSelector",
                    "extractor": {"type": "DpathExtractor", "field_path": ["data"]},
                },
                "paginator": {
                    "type": "DefaultPaginator",
                    "page_size_option": {
                        "type": "RequestOption",
                        "inject_into": "request_parameter",
                        "field_name": "limit",
                    },
                    "page_token_option": {
                        "type": "RequestOption",
                        "inject_into": "request_parameter",
                        "field_name": "offset",
                    },
                    "pagination_strategy": {"type": "OffsetIncrement", "page_size": 100},
                },
            },
        }
    ],
    "spec": {
        "type": "Spec",
        "connection_specification": {"type": "object", "properties": {}, "additionalProperties": True},
    },
}
source = airbyte.get_source("source-pages", source_manifest=manifest, config={})
source.select_all_streams()
cache = DuckDBCache(db_path=str(Path(folder, "warehouse.duckdb")), schema_name="raw")
source.read(cache=cache, write_strategy="merge")
