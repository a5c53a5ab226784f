import { existsSync } from 'node:fs';
import path from 'node:path';
import { readCheckpoints, readContract } from '../../../state/checkpoints.ts';
import { describeTable } from '../../dictionary/describe-table.ts';
import { type Clock, systemClock } from '../../model/clock.ts';
import type { DescribedTable, Dictionary, DictionaryTable } from '../../model/dictionary.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { Checkpoint, Stream } from '../../model/stream.ts';
import { countFilled } from '../../warehouse/column-facts.ts';
import type { Database } from '../../warehouse/database.ts';
import { historyOf, isHistory, readColumns } from '../../warehouse/evolve-table.ts';
import { withPublished } from '../../warehouse/query-published.ts';
import { withinTime } from '../../warehouse/time-box.ts';
import { toRecordedChange } from '../contracts/read-schema.ts';

/** Counting the values of all columns reads all tables. */
const COUNT_MS = 60_000;
const MOST_CHANGES = 100;

/**
 * Gathers what the data dictionary shows, from the published file and the config: no request, no key, no lock. It holds
 * no value of any record.
 */
export async function gatherDictionary(
  settings: OfflineSettings,
  clock: Clock = systemClock,
): Promise<Dictionary> {
  const connector = settings.connector.name;
  const file = settings.readersFile;
  if (!existsSync(file)) return { connector, file: undefined, tables: [] };
  return withPublished(settings, async (database) => {
    const checkpoints = await readCheckpoints(database);
    const described: (readonly [Stream, DescribedTable])[] = [];
    for (const stream of settings.streams)
      for (const table of await describeStream(database, stream, { connector, checkpoints }))
        described.push([stream, table]);
    const counts = await countAll(
      database,
      described.map(([, table]) => table),
      clock,
    );
    const tables: DictionaryTable[] = [];
    for (const [stream, table] of described) {
      const counted = counts.get(table.table) ?? { rows: undefined, nullShares: {} };
      tables.push({
        ...table,
        ...counted,
        columns: table.columns.map((column) => {
          const share = counted.nullShares[column.name];
          return { ...column, hasNulls: share === undefined ? undefined : share > 0 };
        }),
        contractFile: nameFile(settings, stream),
        excluded: Object.entries(stream.columns).flatMap(([field, { kind }]) =>
          kind === 'exclude' ? [field] : [],
        ),
        ...(await readChanges(database, table)),
      });
    }
    return { connector, file, tables };
  });
}

interface Known {
  readonly connector: string;
  readonly checkpoints: readonly Checkpoint[];
}

/** The table of a stream and its history, as far as they are published. */
async function describeStream(
  database: Database,
  stream: Stream,
  { connector, checkpoints }: Known,
): Promise<readonly DescribedTable[]> {
  const held = await readColumns(database, stream.table);
  if (held.size === 0) return [];
  const facts = {
    stream,
    connector,
    learned: await readContract(database, stream.name),
    checkpoints: checkpoints.filter((one) => one.stream === stream.name),
    withNulls: undefined,
  };
  const history = historyOf(stream.table);
  const versions = await readColumns(database, history);
  return [
    describeTable({ ...facts, table: stream.table, holds: 'rows', held }),
    ...(isHistory(versions)
      ? [describeTable({ ...facts, table: history, holds: 'versions', held: versions })]
      : []),
  ];
}

type Counts = Pick<DictionaryTable, 'nullShares' | 'rows'>;

/** Rows and empty values of each table; those that take too long are missing. */
async function countAll(
  database: Database,
  tables: readonly DescribedTable[],
  clock: Clock,
): Promise<ReadonlyMap<string, Counts>> {
  const found = new Map<string, Counts>();
  await withinTime(database, { ms: COUNT_MS, clock }, async () => {
    for (const { table, columns } of tables) {
      const names = columns.map(({ name }) => name);
      const { rows, filled } = await countFilled(database, table, names);
      const shares = names.map((name) => [name, 1 - (filled.get(name) ?? 0) / rows] as const);
      found.set(table, { rows, nullShares: rows === 0 ? {} : Object.fromEntries(shares) });
    }
  });
  return found;
}

async function readChanges(
  database: Database,
  { stream, holds }: DescribedTable,
): Promise<Pick<DictionaryTable, 'changes' | 'moreChanges'>> {
  if (holds === 'versions') return { changes: [], moreChanges: 0 };
  const rows = await database.all(
    `SELECT *, count(*) OVER () AS total FROM _sluice.schema_changes WHERE stream = $1
       ORDER BY changed_at DESC, column_name LIMIT ${MOST_CHANGES}`,
    [stream],
  );
  return {
    changes: rows.map(toRecordedChange),
    moreChanges: Math.max(0, Number(rows[0]?.['total'] ?? 0) - rows.length),
  };
}

function nameFile({ configPath }: OfflineSettings, { contract }: Stream): string | undefined {
  const file = contract.schema?.path;
  if (file === undefined || configPath === undefined) return file;
  return path.relative(path.dirname(configPath), file);
}
