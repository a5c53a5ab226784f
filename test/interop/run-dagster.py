"""Materializes the assets that a program defines, in this process, and prints what Dagster knows of them then as JSON.

argv[1]: the program.
"""

import json
import runpy
import sys

import dagster as dg

assets = [one for one in runpy.run_path(sys.argv[1]).values() if isinstance(one, dg.AssetsDefinition)]
instance = dg.DagsterInstance.ephemeral()
result = dg.materialize(
    assets, instance=instance, resources={"pipes": dg.PipesSubprocessClient()}, raise_on_error=False
)
materialized = [event.event_specific_data.materialization for event in result.get_asset_materialization_events()]
print(
    json.dumps(
        {
            "success": result.success,
            "retries": sum(event.event_type_value == "STEP_UP_FOR_RETRY" for event in result.all_events),
            "materialized": {
                one.asset_key.to_user_string(): {
                    "version": one.tags.get("dagster/data_version"),
                    "metadata": {name: value.value for name, value in one.metadata.items()},
                }
                for one in materialized
            },
            "checks": {
                one.asset_key.to_user_string(): [one.check_name, one.passed, one.severity.value]
                for one in result.get_asset_check_evaluations()
            },
            "log": [entry.user_message for entry in instance.all_logs(result.run_id)],
        }
    )
)
