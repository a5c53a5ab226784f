import { readCheckpoints, readContract } from '../../state/checkpoints.ts';
import { StreamConfigError } from '../model/errors.ts';
import type { OfflineSettings } from '../model/settings.ts';
import { nameOf, type Stream } from '../model/stream.ts';
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

/** A table and the rules that its next scan is read by. */
export interface MaskedTable {
  readonly database: Database;
  readonly settings: Pick<OfflineSettings, 'hashKey'>;
}

/** A stream, and what is known of the scan whose key is in question. */
type KeyQuestion = Pick<Turn, 'stream' | 'checkpoint' | 'learned'>;

/**
 * Throws before the first request if the key is hashed from now on, or no longer: the scan would match no row of the
 * table, so that each would be there twice, or look deleted.
 */
export async function refuseRemaskedKey(held: MaskedTable, question: KeyQuestion): Promise<void> {
  const refusal = await findRemaskedKey(held, question);
  if (refusal !== undefined) throw refusal;
}

/** What `refuseRemaskedKey` would throw. */
export async function findRemaskedKey(
  held: MaskedTable,
  question: KeyQuestion,
): Promise<StreamConfigError | undefined> {
  const { remasked } = await findChangedKey(held, question);
  return describeRemasked(held.database, question.stream, remasked);
}

/**
 * What helps if the table's key is hashed in another way than the config now says, and the archive cannot give it: a
 * full refresh would match no row. Undefined if the key is the same.
 */
export async function adviseOnChangedKey(held: MaskedTable, stream: Stream): Promise<string | undefined> {
  if ((await countHeld(held.database, stream)) === 0) return undefined;
  const learned = await readContract(held.database, stream.name);
  const changed = await findChangedKey(held, { stream, checkpoint: undefined, learned });
  if (changed.rehashed.length > 0) return `Restore the old hashKey; or start over: ${startOver(stream)}`;
  if (changed.remasked.length === 0) return undefined;
  const restore = isHashedNow(stream, changed.remasked) ? 'Take the rule out again' : 'Restore the rule';
  return `${restore}; or start over: ${startOver(stream)}`;
}

/** Columns of the key in which the values of the next scan differ from those of the table. */
async function findChangedKey(
  { database, settings }: MaskedTable,
  { stream, checkpoint, learned }: KeyQuestion,
): Promise<Readonly<Record<'remasked' | 'rehashed', readonly NamedColumn[]>>> {
  const { remasked, rehashed } = await findNewMasks(database, stream, learned, settings.hashKey);
  if (remasked.length + rehashed.length === 0) return { remasked: [], rehashed: [] };
  // A slice that was never read shares the table, and the rules, with the others.
  const checkpoints = checkpoint === undefined ? await readCheckpoints(database) : [checkpoint];
  const key = checkpoints
    .filter((one) => one.stream === stream.name)
    .flatMap(({ keyFields = [] }) => keyFields);
  // Another key that the config has now may have none of these fields.
  const asked = stream.key.kind === 'fields' ? stream.key.fields : undefined;
  const columns = learned.filter((column) => asked === undefined || isOneOf(asked, column));
  return { remasked: listKeyed(columns, key, remasked), rehashed: listKeyed(columns, key, rehashed) };
}

/** The same once the scan's key is known. A learned key replaces a table that had none: no row has to be matched. */
export async function refuseRemaskedLoad(
  database: Database,
  { stream, checkpoint }: Pick<Turn, 'stream' | 'checkpoint'>,
  { key, columns, columnChanges }: Pick<PreparedLoad, 'key' | 'columns' | 'columnChanges'>,
): Promise<void> {
  const hadNone = checkpoint?.lastFullScanAt !== undefined && checkpoint.keyFields === undefined;
  if (hadNone && key?.origin === 'learned') return;
  const remasked = listKeyed(columns, key?.columns, columnChanges.remasked);
  const refusal = await describeRemasked(database, stream, remasked);
  if (refusal !== undefined) throw refusal;
}

async function describeRemasked(
  database: Database,
  stream: Stream,
  key: readonly NamedColumn[],
): Promise<StreamConfigError | undefined> {
  const held = key.length === 0 ? 0 : await countHeld(database, stream);
  if (held === 0) return undefined;
  // Where the rule was removed, nothing in the archive has the values from before it.
  const [change, way] = isHashedNow(stream, key)
    ? [
        'is hashed from now on',
        `\`sluice rebuild ${stream.name}\` hashes it in the table as well, from archived pages and with no request`,
      ]
    : ['is no longer hashed', 'Restore the rule'];
  const names = key.map(({ name }) => name).join(', ');
  const rows = formatCountOf(held, 'existing row');
  return new StreamConfigError(
    `${nameOf(stream)}: its key (${names}) ${change}, so none of the ${rows} can be matched`,
    {
      code: 'config_invalid',
      hint: `The table is unchanged. ${way}; or start over: ${startOver(stream)}.`,
      context: { stream: stream.name },
    },
  );
}

/** Rows of the table with all of its slices: rules apply to all of them. */
async function countHeld(database: Database, { table }: Stream): Promise<number> {
  return (await tableExists(database, table)) ? countLiveRows(database, table, '') : 0;
}

function isHashedNow({ columns }: Stream, key: readonly NamedColumn[]): boolean {
  const hashed = Object.keys(columns).filter((field) => columns[field]?.kind === 'hash');
  return key.some((column) => isOneOf(hashed, column));
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
