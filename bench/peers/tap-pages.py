"""A Singer tap of the pages, as singer-sdk has one written. Arguments: those of a tap; its config has `origin`."""

from record_schema import RECORD_SCHEMA
from singer_sdk import RESTStream, Tap
from singer_sdk.pagination import BaseOffsetPaginator

PAGE_SIZE = 100


class Pages(BaseOffsetPaginator):
    """Goes on while a page says that there are more."""

    def has_more(self, response):
        return response.json()["pagination"]["hasMore"]


class ItemsStream(RESTStream):
    name = "items"
    path = "/items"
    primary_keys = ("id", "date")
    records_jsonpath = "$.data[*]"
    schema = RECORD_SCHEMA

    @property
    def url_base(self):
        return f"{self.config['origin']}/v1"

    def get_new_paginator(self):
        return Pages(0, PAGE_SIZE)

    def get_url_params(self, context, next_page_token):
        return {"limit": PAGE_SIZE, "offset": next_page_token or 0}


class PagesTap(Tap):
    name = "tap-pages"
    config_jsonschema = {
        "type": "object",
        "properties": {"origin": {"type": "string"}},
        "required": ["origin"],
    }

    def discover_streams(self):
        return [ItemsStream(self)]


PagesTap.cli()
