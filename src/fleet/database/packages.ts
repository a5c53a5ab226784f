import type * as pgModule from 'pg';
import type * as bossModule from 'pg-boss';
import { ConfigError } from '../../model/errors.ts';

/** The driver, a package that only fleets need. Throws a ConfigError (2) where it is not installed. */
export function loadPg(): Promise<typeof pgModule> {
  return importOptional('pg', () => import('pg'));
}

/** The queue, a package that only fleets need. Throws a ConfigError (2) where it is not installed. */
export function loadPgBoss(): Promise<typeof bossModule> {
  return importOptional('pg-boss', () => import('pg-boss'));
}

/** The exact version of the queue that this release was tried with: its database has the same version. */
export const PG_BOSS_VERSION = '12.35.0';

async function importOptional<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND';
    if (!isMissing) throw cause;
    throw new ConfigError(`the package ${name} is not installed, and a fleet needs it`, {
      code: 'config_invalid',
      hint: `Run npm install pg pg-boss@${PG_BOSS_VERSION} tar, and for a bucket also @aws-sdk/client-s3. Nothing was requested.`,
      cause,
    });
  }
}
