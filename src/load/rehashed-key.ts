import { readCheckpoints } from '../../state/checkpoints.ts';
import { StreamConfigError } from '../model/errors.ts';
import { nameOf, type Stream } from '../model/stream.ts';
import type { RunContext } from '../run/run-context.ts';
import type { PreparedLoad } from '../run/scan.ts';
import type { Turn } from '../run/turn.ts';
import { companionSource, toFieldName } from '../schema/field-paths.ts';
import { namesField } from '../schema/field-rules.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import { formatCountOf, verbOf } from '../text/format-count.ts';
import type { Database } from '../warehouse/database.ts';
import { tableExists } from '../warehouse/evolve-table.ts';
import { countLiveRows } from '../warehouse/live-rows.ts';
import { findNewMasks } from './plan-columns.ts';

/** Key columns hashed with a different key since the last sync: they match no existing row. */
function findRehashed({ key, columns, columnChanges }: PreparedLoad): readonly string[] {
  return listKeyed(columns, key?.columns, columnChanges.rehashed).map(({ name }) => name);
}

type NamedColumn = Pick<ColumnPlan, 'name' | 'path'>;

/** The columns of a key that these fields fill. */
function listKeyed(
  columns: readonly NamedColumn[],
  key: readonly string[] = [],
  fields: readonly string[],
): readonly NamedColumn[] {
  return columns
    .filter(({ name, path }) => key.includes(name) && companionSource(path) === undefined)
    .filter((column) => isOneOf(fields, column));
}

function isOneOf(fields: readonly string[], { path }: NamedColumn): boolean {
  return fields.some((field) => namesField(field, path.map(toFieldName)));
}

/**
 * Throws before the first request if the key is hashed from now on, or no longer: the scan would match no row of the
 * table, so that each would be there twice, or look deleted.
 */
export async function refuseRemaskedKey(
  { database, settings }: Pick<RunContext, 'database' | 'settings'>,
  { stream, checkpoint, learned }: Pick<Turn, 'stream' | 'checkpoint' | 'learned'>,
): Promise<void> {
  const { remasked } = await findNewMasks(database, stream, learned, settings.hashKey);
  if (remasked.length === 0) return;
  // A slice that was never read shares the table, and the rules, with the others.
  const checkpoints = checkpoint === undefined ? await readCheckpoints(database) : [checkpoint];
  const key = checkpoints
    .filter((one) => one.stream === stream.name)
    .flatMap(({ keyFields = [] }) => keyFields);
  // Another key that the config has now may have none of these fields.
  const asked = stream.key.kind === 'fields' ? stream.key.fields : undefined;
  const columns = learned.filter((column) => asked === undefined || isOneOf(asked, column));
  await refuseRemasked(database, stream, listKeyed(columns, key, remasked));
}

/** The same once the scan's key is known. */
export async function refuseRemaskedLoad(
  database: Database,
  stream: Stream,
  { key, columns, columnChanges }: Pick<PreparedLoad, 'key' | 'columns' | 'columnChanges'>,
): Promise<void> {
  await refuseRemasked(database, stream, listKeyed(columns, key?.columns, columnChanges.remasked));
}

async function refuseRemasked(
  database: Database,
  stream: Stream,
  key: readonly NamedColumn[],
): Promise<void> {
  if (key.length === 0 || !(await tableExists(database, stream.table))) return;
  // Rules apply to the table with all of its slices.
  const held = await countLiveRows(database, stream.table, '');
  if (held === 0) return;
  const hashed = Object.keys(stream.columns).filter((field) => stream.columns[field]?.kind === 'hash');
  const isHashed = key.some((column) => isOneOf(hashed, column));
  // Where the rule was removed, nothing in the archive has the values from before it.
  const [change, way] = isHashed
    ? [
        'is hashed from now on',
        `\`sluice rebuild ${stream.name}\` hashes it in the table as well, from archived pages and with no request`,
      ]
    : ['is no longer hashed', 'Restore the rule'];
  const names = key.map(({ name }) => name).join(', ');
  const rows = formatCountOf(held, 'existing row');
  throw new StreamConfigError(
    `${nameOf(stream)}: its key (${names}) ${change}, so none of the ${rows} can be matched`,
    {
      code: 'config_invalid',
      hint: `The table is unchanged. ${way}; or start over: ${startOver(stream)}.`,
      context: { stream: stream.name },
    },
  );
}

/** Commands that read a stream into a new table. */
export function startOver({ name }: Stream): string {
  return `\`sluice state reset ${name} --drop-tables\`, then \`sluice sync --streams ${name}\``;
}

/** Throws if all rows seem to be gone but only their hashed key changed. */
export function refuseRehashed(stream: Stream, load: PreparedLoad, held: number): void {
  const columns = findRehashed(load);
  if (columns.length === 0) return;
  throw new StreamConfigError(
    `${nameOf(stream)}: defaults.hashKey changed since its last sync, and its key (${columns.join(', ')}) is hashed: none of the ${held} existing rows can be matched`,
    {
      code: 'config_invalid',
      hint: `The table is unchanged. Restore the old hashKey; or start over with this one: ${startOver(stream)}.`,
      context: { stream: stream.name },
    },
  );
}

/** If `deletes` keeps rows, those with the old hashes stay next to the same rows with the new hashes. */
export function describeRehashed(stream: Stream, load: PreparedLoad, inserted: number): readonly string[] {
  const columns = findRehashed(load);
  if (columns.length === 0 || inserted === 0) return [];
  return [
    `${nameOf(stream)}: defaults.hashKey changed since its last sync, and its key (${columns.join(', ')}) is hashed: ${formatCountOf(inserted, 'row')} ${verbOf(inserted, 'is', 'are')} new, and those with the old hashes stay next to them. To start over: ${startOver(stream)}`,
  ];
}
