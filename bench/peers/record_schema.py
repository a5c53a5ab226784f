"""The nested records of bench/records.ts as a JSON schema, which an Airbyte stream and a Singer tap declare."""

RECORD_SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "date": {"type": "string", "format": "date"},
        "topicId": {"type": ["string", "null"]},
        "mentions": {"type": ["integer", "null"]},
        "visibility": {"type": ["number", "null"]},
        "rank": {"type": ["integer", "null"]},
        "meta": {
            "type": ["object", "null"],
            "properties": {"model": {"type": ["string", "null"]}, "score": {"type": ["number", "null"]}},
        },
        "sources": {
            "type": ["array", "null"],
            "items": {
                "type": "object",
                "properties": {
                    "url": {"type": ["string", "null"]},
                    "rank": {"type": ["integer", "null"]},
                    "share": {"type": ["number", "null"]},
                    "cited": {"type": ["boolean", "null"]},
                },
            },
        },
        "answer": {"type": ["string", "null"]},
    },
}
