"""Loads what Sluice has into the cache of PyAirbyte: pip install airbyte, then python examples/pyairbyte.py"""

import os
from pathlib import Path

import airbyte

config = {
    "base_url": os.environ["ANALYTICS_BASE_URL"],
    "api_key": os.environ["ANALYTICS_API_KEY"],
    # It stays between reads: the state and warehouse.duckdb are in it.
    "folder": str(Path("sluice-data").resolve()),
}
executable = Path(os.environ.get("SLUICE_SOURCE", "node_modules/.bin/source-sluice"))
source = airbyte.get_source("source-sluice", config=config, local_executable=executable)
source.select_all_streams()
for name, rows in source.read().streams.items():
    print(name, len(rows))
