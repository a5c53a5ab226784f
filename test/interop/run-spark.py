"""Runs statements of SQL in Spark: one a line on its input, as JSON; answers with the rows or the error, as JSON."""

import json
import sys

from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[2]")
for name, value in json.loads(sys.argv[1]).items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
for line in sys.stdin:
    try:
        rows = spark.sql(json.loads(line)).collect()
        answer = {"rows": [row.asDict() for row in rows]}
    except Exception as error:  # Whatever it is, the program that asked has to know.
        answer = {"error": str(error)[:1000]}
    print(json.dumps(answer, default=str), flush=True)
