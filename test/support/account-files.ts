import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { migrate, writeMeta } from '../../state/migrations.ts';
import type { AccountData } from '../../src/model/account.ts';
import type { PartitionRule } from '../../src/model/lake.ts';
import { listLakeTables } from '../../src/publish/lake/list-tables.ts';
import { resolvePartitions } from '../../src/publish/lake/partitions.ts';
import { publishLake } from '../../src/publish/lake/publish-lake.ts';
import { Database } from '../../src/warehouse/database.ts';
import { createVirtualClock } from './virtual-clock.ts';

/** Where an account of a test publishes its DuckDB file. */
export function accountAt(folder: string, account: string): AccountData {
  return { account, readersFile: join(folder, `${account}.duckdb`), lake: undefined };
}

/**
 * Writes the published file of an account: the system tables, and what the statements make. Again, it changes the file
 * as a sync would, in a new commit.
 */
export async function writeAccountFile(
  folder: string,
  account: string,
  ...statements: readonly string[]
): Promise<AccountData> {
  const data = accountAt(folder, account);
  const scratch = join(folder, 'scratch');
  mkdirSync(scratch, { recursive: true });
  const database = await Database.open({ file: data.readersFile, folders: [scratch] });
  try {
    await database.transaction(() => migrate(database, data.readersFile));
    for (const statement of statements) await database.run(statement);
    const count = await database.count('SELECT count(*) FROM _sluice.runs');
    const runId = `${account}-run-${count + 1}`;
    await database.run('INSERT INTO _sluice.runs (run_id) VALUES ($1)', [runId]);
    await writeMeta(database, 'generation', `${runId} 000000000000`);
    await database.checkpoint();
  } finally {
    await database.release();
  }
  return data;
}

let published = 0;

/**
 * Publishes the lake of an account in `<root>/account=<name>`: the tables that the statements make, in folders by
 * these columns. Again, it changes the lake as a sync would.
 */
export async function writeAccountLake(
  root: string,
  account: string,
  statements: readonly string[],
  { partitionBy = {}, folder = `account=${account}` }: LakeShape = {},
): Promise<AccountData> {
  const lake = join(root, folder);
  const work = join(root, '..', `work-${account}`);
  mkdirSync(work, { recursive: true });
  const file = join(work, 'work.duckdb');
  const database = await Database.open({ file, folders: [work, lake] });
  try {
    await database.transaction(() => migrate(database, file));
    for (const statement of statements) await database.run(statement);
    const commit = `${account}-run-${(published += 1)} 000000000000`;
    await database.run('INSERT INTO _sluice.runs (run_id) VALUES ($1)', [commit.slice(0, -13)]);
    await writeMeta(database, 'generation', commit);
    const listed = await listLakeTables({ streams: [] }, database);
    await publishLake({
      look: () => Promise.resolve(),
      session: database,
      lake,
      connector: 'test',
      baseUrl: 'http://localhost/api',
      commit,
      runId: 'run',
      tables: listed.map((table) => ({
        ...table,
        partitionBy: resolvePartitions(table.table, partitionBy[table.table] ?? [], table.columns),
      })),
      graceMs: 3_600_000,
      mustForget: false,
      // Names of generations sort by time.
      clock: createVirtualClock({ startMs: Date.UTC(2026, 0, 31) + published * 60_000 }),
      signal: undefined,
      warn: () => undefined,
      onBegin: () => undefined,
    });
  } finally {
    await database.release();
  }
  return { account, readersFile: join(lake, 'lake.duckdb'), lake };
}

interface LakeShape {
  /** By table. */
  readonly partitionBy?: Readonly<Record<string, readonly PartitionRule[]>>;
  /** Of the lake, below the root. */
  readonly folder?: string;
}
