import type * as pgModule from 'pg';
import type * as bossModule from 'pg-boss';
import { loadPackage } from '../load-package.ts';

/** The exact version of the queue that this release was tried with: its tables in the database have the same version. */
export const PG_BOSS_VERSION = '12.35.0';

/** The driver, a package that only fleets need. Throws a ConfigError (2) where it is not installed. */
export function loadPg(): Promise<typeof pgModule> {
  return loadPackage('pg', () => import('pg'));
}

/** The queue, a package that only fleets need. Throws a ConfigError (2) where it is not installed. */
export function loadPgBoss(): Promise<typeof bossModule> {
  return loadPackage('pg-boss', () => import('pg-boss'), PG_BOSS_VERSION);
}
