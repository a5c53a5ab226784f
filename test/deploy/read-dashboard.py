"""Reads a dashboard with the types that Grafana publishes, and prints what they do not know of it, one place a line."""

import json
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard


def find_lost(before, after, path=""):
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            if key in after:
                yield from find_lost(value, after[key], f"{path}.{key}")
            # The types leave out what is empty.
            elif value not in (None, False, 0, "", [], {}):
                yield f"{path}.{key}"
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, pair in enumerate(zip(before, after)):
            yield from find_lost(*pair, f"{path}[{index}]")
    elif before != after:
        yield path


register_default_plugins()
with open(sys.argv[1], encoding="utf-8") as file:
    text = file.read()
known = json.loads(JSONEncoder().encode(Dashboard.from_json(json.loads(text))))
for place in find_lost(json.loads(text), known):
    print(place)
