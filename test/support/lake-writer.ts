import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { migrate } from '../../state/migrations.ts';
import type { Clock } from '../../src/model/clock.ts';
import type { PublishedLake } from '../../src/model/lake.ts';
import type { LakeJob } from '../../src/publish/lake/lake-job.ts';
import { resolvePartitions } from '../../src/publish/lake/partitions.ts';
import { publishLake } from '../../src/publish/lake/publish-lake.ts';
import { Database } from '../../src/warehouse/database.ts';
import { readColumns } from '../../src/warehouse/evolve-table.ts';
import { makeTempFolder } from './temp-folder.ts';
import { createVirtualClock } from './virtual-clock.ts';

/** A table `items` and its lake, without anything around them. */
export interface LakeWriter {
  readonly database: Database;
  readonly lake: string;
  readonly publish: (changes?: Partial<LakeJob>) => Promise<PublishedLake | undefined>;
  /** Generations of `items` in the order in which they were current. */
  readonly generations: () => readonly string[];
}

/** Opens a work file with a table `items (id, date, amount)` that is partitioned by `rule`. */
export async function openLakeWriter(
  rule: 'date' | 'none',
  clock: Clock = createVirtualClock({ startMs: Date.UTC(2026, 0, 31) }),
): Promise<LakeWriter> {
  const folder = makeTempFolder();
  const scratch = join(folder, 'scratch');
  mkdirSync(scratch);
  const lake = join(folder, 'lake');
  const file = join(folder, 'work.duckdb');
  const database = await Database.open({ file, folders: [scratch, lake] });
  onTestFinished(() => database.release());
  await database.transaction(() => migrate(database, file));
  await database.run('CREATE TABLE main.items (id BIGINT, date DATE, amount BIGINT)');
  return {
    database,
    lake,
    async publish(changes = {}) {
      // Names of generations sort by time.
      await clock.sleep(2);
      const columns = await readColumns(database, 'items');
      const rules = rule === 'none' ? [] : [{ column: 'date', transform: 'identity' } as const];
      const partitionBy = resolvePartitions('items', rules, columns);
      const table = {
        table: 'items',
        stream: 'items',
        columns,
        partitionBy,
        sortBy: ['id'],
        checkpoints: [],
      };
      return publishLake({
        look: () => Promise.resolve(),
        session: database,
        lake,
        connector: 'test',
        baseUrl: 'http://localhost/api',
        commit: randomUUID(),
        runId: 'run',
        tables: [table],
        graceMs: 3_600_000,
        mustForget: false,
        clock,
        signal: undefined,
        warn: () => undefined,
        onBegin: () => undefined,
        ...changes,
      });
    },
    generations() {
      // An announcement comes before the generation it announces.
      const rank = (name: string) => (name.endsWith('-folders') ? name.replace('-folders', ' ') : `${name}!`);
      return readdirSync(join(lake, '_generations', 'items')).toSorted((a, b) =>
        rank(a) < rank(b) ? -1 : 1,
      );
    },
  };
}
