import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { migrate } from '../../state/migrations.ts';
import { Database } from '../../src/warehouse/database.ts';
import { makeTempFolder } from './temp-folder.ts';

/** A work file opened as a run opens it, in a folder of the test's own. */
export interface TempDatabase {
  readonly database: Database;
  readonly folder: string;
  readonly file: string;
  /** A folder the engine may read and write. */
  readonly scratch: string;
}

/** Opens a new work file for the running test and releases it when the test ends. */
export async function openTempDatabase(): Promise<TempDatabase> {
  const folder = makeTempFolder();
  const scratch = join(folder, 'scratch');
  mkdirSync(scratch);
  const file = join(folder, 'work.duckdb');
  const database = await Database.open({ file, folders: [scratch] });
  onTestFinished(() => database.release());
  return { database, folder, file, scratch };
}

/** The same with the `_sluice` tables in it. */
export async function openMigratedDatabase(): Promise<TempDatabase> {
  const opened = await openTempDatabase();
  await opened.database.transaction(() => migrate(opened.database, opened.file));
  return opened;
}
