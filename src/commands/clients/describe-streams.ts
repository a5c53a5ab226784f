import { readCheckpoints, readContract } from '../../../state/checkpoints.ts';
import { readMeta } from '../../../state/migrations.ts';
import type { ClientColumn, ClientStream } from '../../model/client-stream.ts';
import type { Stream } from '../../model/stream.ts';
import type { Database } from '../../warehouse/database.ts';
import { readColumns } from '../../warehouse/evolve-table.ts';
import { nameSent } from './name-sent.ts';

/** Columns that say when Sluice wrote a row: they are not data. */
const OWN = new Set(['_run_id', '_synced_at', '_deleted_at', '_slice']);

/** A published table for clients. */
export interface DescribedStream {
  readonly stream: ClientStream;
  /** Deleted rows stay in the table, marked. */
  readonly isMarkable: boolean;
}

/**
 * The streams that have a table in the current database. Others never had a record, or their table still has what the
 * config hides by now: nobody is to receive that, and no log to keep it.
 */
export async function describeStreams(
  database: Database,
  streams: readonly Stream[],
): Promise<readonly DescribedStream[]> {
  const checkpoints = await readCheckpoints(database);
  const meta = await readMeta(database);
  const described: DescribedStream[] = [];
  for (const stream of streams) {
    const columns = await readColumns(database, stream.table);
    if (columns.size === 0 || !isMasked(stream, meta.get(`masks.${stream.name}`))) continue;
    const own = checkpoints.filter((one) => one.stream === stream.name);
    const isSliced = columns.has('_slice');
    const data = await listColumns(database, stream, columns);
    const slice: ClientColumn = { name: '_slice', type: 'VARCHAR' };
    const key = findKey(own.map(({ keyFields }) => keyFields))?.map(nameSent);
    described.push({
      isMarkable: columns.has('_deleted_at'),
      stream: {
        name: stream.name,
        table: stream.table,
        columns: isSliced ? [...data, slice] : data,
        key: key && (isSliced ? [...key, '_slice'] : key),
        cursor: own.find(({ cursorField }) => cursorField !== undefined)?.cursorField,
        masks: nameMasks(stream),
      },
    });
  }
  return described;
}

async function listColumns(
  database: Database,
  { name: stream }: Stream,
  columns: ReadonlyMap<string, string>,
): Promise<readonly ClientColumn[]> {
  const learned = new Map((await readContract(database, stream)).map((column) => [column.name, column]));
  return [...columns]
    .filter(([name]) => !OWN.has(name))
    .map(([name, engineType]) => {
      const { type = 'NULL', jsonTypes } = learned.get(name) ?? {};
      // A lake may hold a column in a wider type than the one that was learned.
      const sent = nameSent(name);
      return {
        name: sent,
        ...(sent !== name && { column: name }),
        type: type === 'NULL' ? toColumnType(engineType) : type,
        jsonTypes,
      };
    });
}

function toColumnType(engineType: string): ClientColumn['type'] {
  if (engineType === 'TIMESTAMP WITH TIME ZONE') return 'TIMESTAMPTZ';
  return engineType as ClientColumn['type'];
}

/** All slices of a stream have its key; if they do not agree yet, rows cannot be told apart. */
function findKey(keys: readonly (readonly string[] | undefined)[]): readonly string[] | undefined {
  const [first] = keys;
  return keys.every((key) => key?.join('\n') === first?.join('\n')) ? first : undefined;
}

/** Whether a table was last written with the masks of the config. */
function isMasked({ columns }: Stream, remembered = '{}'): boolean {
  const done = JSON.parse(remembered) as Readonly<Record<string, string>>;
  return Object.entries(columns).every(
    ([field, { kind }]) => kind === 'type' || done[field]?.split(':', 1)[0] === kind,
  );
}

/** What hides fields of a stream, as text that changes with it. */
export function nameMasks({ columns }: Stream): string {
  const masks = Object.entries(columns).filter(([, { kind }]) => kind !== 'type');
  return masks
    .map(([field, { kind }]) => `${kind} ${field}`)
    .toSorted()
    .join('\n');
}
