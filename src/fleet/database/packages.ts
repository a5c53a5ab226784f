import type * as pgModule from 'pg';
import type * as bossModule from 'pg-boss';
import { loadPackage } from '../../model/load-package.ts';

/** The exact version of the queue that this release was tried with: its tables in the database have the same version. */
export const PG_BOSS_VERSION = '12.35.0';

/** The driver, a package that only fleets need. Throws a ConfigError (2) where it is not installed. */
export function loadPg(): Promise<typeof pgModule> {
  return loadPackage({ name: 'pg', neededBy: 'this fleet' }, () => import('pg'));
}

/** The queue, a package that only fleets need. Throws a ConfigError (2) where it is not installed. */
export function loadPgBoss(): Promise<typeof bossModule> {
  const wanted = { name: 'pg-boss', version: PG_BOSS_VERSION, neededBy: 'this fleet' };
  return loadPackage(wanted, () => import('pg-boss'));
}
