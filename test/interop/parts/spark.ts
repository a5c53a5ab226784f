import { strict as assert } from 'node:assert';
import { join } from 'node:path';
import { findSpark } from '../../support/find-spark.ts';
import { explainMissing } from '../../support/lake-servers.ts';
import type { Interop } from '../part.ts';
import { proveSpark } from '../prove-spark.ts';

/** Spark and pyiceberg with tables of Iceberg: it needs what tools/install-proof-tools.sh installs. */
export async function proveSparkTables({ folder, say }: Interop): Promise<void> {
  const spark = findSpark();
  const missing = explainMissing() ?? (spark === undefined ? 'Spark is missing' : undefined);
  assert.ok(
    spark !== undefined && missing === undefined,
    `${missing}: on Debian, run tools/install-proof-tools.sh`,
  );
  say(await proveSpark(spark, join(folder, 'spark')));
}
