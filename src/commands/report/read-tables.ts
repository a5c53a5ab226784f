import { readCheckpoints, readContract } from '../../../state/checkpoints.ts';
import type { Clock } from '../../model/clock.ts';
import type { ColumnProfile, TableFacts } from '../../model/report-data.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { Stream } from '../../model/stream.ts';
import type { Database } from '../../warehouse/database.ts';
import { isFatal } from '../../warehouse/database-errors.ts';
import { countDays } from '../../warehouse/count-days.ts';
import { tableExists } from '../../warehouse/evolve-table.ts';
import { countLiveRows } from '../../warehouse/live-rows.ts';
import { MOST_PROFILED_ROWS, profileTable } from '../../warehouse/profile-table.ts';
import { withinTime } from '../../warehouse/time-box.ts';
import { toSyncError } from '../../model/errors.ts';
import type { HiddenValues } from './hidden-values.ts';
import { formatCount, formatCountOf, verbOf } from '../../text/format-count.ts';

/** All tables together may take this long, ms. */
const TABLES_MS = 30_000;
const MOST_COLUMNS_OF_TABLE = 100;
const MOST_COLUMNS = 1_500;
/** With more tables than this, each is shown shorter. */
const MANY_TABLES = 40;
const DAYS = 90;
const DAYS_OF_MANY = 30;

export interface TableOptions {
  readonly clock: Clock;
  readonly showValues: boolean;
  readonly hidden: (stream: Stream) => Promise<HiddenValues>;
}

/** What the tables hold. Columns and days that are too many or take too long are reported as left out. */
export async function readTables(
  database: Database,
  { streams }: Pick<OfflineSettings, 'streams'>,
  { clock, showValues, hidden }: TableOptions,
): Promise<{ readonly tables: readonly TableFacts[]; readonly leftOut: readonly string[] }> {
  const cursors = new Map(
    (await readCheckpoints(database)).map(({ stream, cursorField }) => [stream, cursorField]),
  );
  const tables: TableFacts[] = [];
  const leftOut: string[] = [];
  const mostDays = streams.length > MANY_TABLES ? DAYS_OF_MANY : DAYS;
  let columnsLeft = MOST_COLUMNS;
  let looked = 0;
  const work = async () => {
    for (const stream of streams) {
      if (await tableExists(database, stream.table)) {
        const masks = await hidden(stream);
        const hides = (column: string): ColumnProfile['hidden'] =>
          masks.columns.has(column) ? 'masked' : showValues ? undefined : 'asked';
        const read = await readTable(database, stream, {
          mostDays,
          cursorColumn: cursors.get(stream.name),
          nowMs: clock.now(),
          mostColumns: Math.min(columnsLeft, MOST_COLUMNS_OF_TABLE),
          hides,
        });
        tables.push(read.facts);
        leftOut.push(...read.leftOut);
        columnsLeft -= read.facts.profile?.columns.length ?? 0;
      }
      looked += 1;
    }
  };
  const isDone = await withinTime(database, { ms: TABLES_MS, clock }, work);
  if (!isDone) {
    const names = streams.slice(looked).map(({ name }) => name);
    leftOut.push(
      `Reading the tables took longer than ${TABLES_MS / 1_000} s, so these are left out: ${listNames(names)}.`,
    );
  }
  return { tables, leftOut };
}

interface TableLimits {
  readonly mostDays: number;
  readonly cursorColumn: string | undefined;
  readonly nowMs: number;
  readonly mostColumns: number;
  readonly hides: (column: string) => ColumnProfile['hidden'];
}

async function readTable(
  database: Database,
  { name, table }: Stream,
  limits: TableLimits,
): Promise<{ readonly facts: TableFacts; readonly leftOut: readonly string[] }> {
  const leftOut: string[] = [];
  const rows = await countLiveRows(database, table, '');
  const learned = await readContract(database, name);
  const columns = learned.slice(0, limits.mostColumns);
  const more = learned.length - columns.length;
  if (more > 0) {
    leftOut.push(
      `${name}: ${formatCount(more)} of ${formatCountOf(learned.length, 'column')} ${verbOf(more, 'is', 'are')} left out; \`sluice schema show\` lists them all.`,
    );
  }
  if (rows > MOST_PROFILED_ROWS)
    leftOut.push(
      `${name}: its columns are described by a sample of about ${formatCount(MOST_PROFILED_ROWS)} rows.`,
    );
  const attempt = async <T>(what: string, read: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await read();
    } catch (thrown) {
      const error = toSyncError(thrown);
      // A table that is too large for the engine must not break the rest of the report.
      if (isFatal(error) || error.code === 'aborted') throw error;
      leftOut.push(`${name}: ${what} could not be read (${error.message.split('\n', 1)[0] ?? ''}).`);
      return undefined;
    }
  };
  const days = await attempt('rows per day', () => countDays(database, table, limits));
  const profile = await attempt('columns', () =>
    profileTable(database, table, { rows, columns, hides: limits.hides }),
  );
  return { facts: { stream: name, rows, days, profile }, leftOut };
}

const MOST_NAMES = 10;

function listNames(names: readonly string[]): string {
  const more = names.length - MOST_NAMES;
  return names.slice(0, MOST_NAMES).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
