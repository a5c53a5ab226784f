import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { SparkHome } from '../support/find-spark.ts';
import type { IcebergCatalog } from '../support/iceberg-catalog.ts';
import type { ObjectStore } from '../support/lake-servers.ts';

/** Spark in a process of its own, which has a catalog open as `catalog`. */
export interface SparkSession {
  rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  stop(): Promise<void>;
}

/** Spark refused a statement. */
export class SparkError extends Error {}

interface Answer {
  readonly rows?: readonly Readonly<Record<string, unknown>>[];
  readonly error?: string;
}

/** Starts Spark without a network: its jars are named by their paths. */
export function startSpark(
  { python, javaHome, jars }: SparkHome,
  catalog: IcebergCatalog,
  store: ObjectStore,
): SparkSession {
  const ours = 'spark.sql.catalog.catalog';
  const settings = {
    'spark.jars': jars.join(','),
    'spark.ui.enabled': 'false',
    'spark.driver.host': '127.0.0.1',
    'spark.driver.bindAddress': '127.0.0.1',
    'spark.driver.memory': '1g',
    'spark.sql.shuffle.partitions': '1',
    'spark.sql.extensions': 'org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions',
    'spark.sql.session.timeZone': 'UTC',
    [ours]: 'org.apache.iceberg.spark.SparkCatalog',
    [`${ours}.type`]: 'rest',
    [`${ours}.uri`]: catalog.endpoint,
    [`${ours}.warehouse`]: catalog.warehouse,
    // Otherwise it reads the state of a table that it saw first.
    [`${ours}.cache-enabled`]: 'false',
    [`${ours}.io-impl`]: 'org.apache.iceberg.aws.s3.S3FileIO',
    [`${ours}.s3.endpoint`]: `http://${store.endpoint}`,
    [`${ours}.s3.access-key-id`]: store.keyId,
    [`${ours}.s3.secret-access-key`]: store.secret,
    [`${ours}.s3.path-style-access`]: 'true',
    [`${ours}.client.region`]: store.region,
    // Otherwise the catalog signs the requests of this reader, and needs a role for it.
    [`${ours}.header.X-Iceberg-Access-Delegation`]: '',
  };
  const script = fileURLToPath(new URL('run-spark.py', import.meta.url));
  const child = spawn(python, [script, JSON.stringify(settings)], {
    env: { ...process.env, JAVA_HOME: javaHome, SPARK_LOCAL_IP: '127.0.0.1' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const closed = once(child, 'close');
  let said = '';
  child.stderr.on('data', (chunk) => (said += String(chunk)));
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async rows(sql) {
      child.stdin.write(`${JSON.stringify(sql)}\n`);
      const answer = await answers.next();
      if (answer.done === true) throw new Error(`Spark ended: ${said.slice(-2000)}`);
      const { rows, error } = JSON.parse(answer.value) as Answer;
      if (rows === undefined) throw new SparkError(`${sql}: ${error}`);
      return rows;
    },
    async stop() {
      child.stdin.end();
      await closed;
    },
  };
}
