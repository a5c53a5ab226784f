import { forgetElements } from '../../state/elements.ts';
import { readMeta, writeMeta } from '../../state/migrations.ts';
import type { SchemaChange } from '../model/run-report.ts';
import type { ForcedType } from '../model/schema.ts';
import type { LearnedColumn, Stream } from '../model/stream.ts';
import { addDecimals } from '../schema/exact-decimals.ts';
import { foldConfiguredName } from '../schema/field-rules.ts';
import { findMaskedColumns } from '../schema/mask-columns.ts';
import { pathKey } from '../schema/name-columns.ts';
import type { FieldTree } from '../schema/observe-fields.ts';
import { type ColumnPlan, type ForcedColumn, resolveColumns } from '../schema/resolve-columns.ts';
import type { Database } from '../warehouse/database.ts';
import { clearColumn, dropColumn, survivesCast } from '../warehouse/evolve-table.ts';
import { forgetUnmasked } from '../warehouse/quarantine.ts';
import { convertsExactly, listDigits, retypeColumn, type Retyping } from '../warehouse/retype-column.ts';
import { describeMasks, type MaskedFields } from '../schema/mask-records.ts';
import type { ColumnChanges } from '../run/scan.ts';
import type { CheckedScan, ContractQuestion } from './check-contract.ts';
import { findCompanion } from './key-columns.ts';
import { scheduleCompaction, scheduleForgetting } from '../../state/rewrite-mark.ts';

/** The columns of a scan's table, and the changes that lead to them. */
export interface PlannedColumns {
  readonly columns: readonly ColumnPlan[];
  readonly changes: ColumnChanges;
}

/** Decides the columns that a scan's rows are loaded into. */
export async function planColumns(
  database: Database,
  { stream, learned, hashKey }: Pick<ContractQuestion, 'stream' | 'learned' | 'hashKey'>,
  held: Pick<CheckedScan, 'tree' | 'forced'>,
): Promise<PlannedColumns> {
  const { masked, masks, rehashed, remasked } = await findNewMasks(database, stream, learned, hashKey);
  const existing = masked?.left ?? learned;
  const forced = await askForced(database, stream, held.forced, existing);
  const columns = await resolveWithTable(database, stream, held.tree, { existing, forced });
  const retyped = columns.flatMap((column) => planRetyping(column, columns, existing));
  return { columns, changes: { masked, masks, rehashed, remasked, retyped } };
}

/** What changed in the masks since the last commit: the previously learned columns without newly masked ones. */
export async function findNewMasks(
  database: Database,
  stream: Stream,
  learned: readonly LearnedColumn[],
  hashKey: string | undefined,
): Promise<Omit<ColumnChanges, 'retyped'>> {
  const { name, columns } = stream;
  const remembered = (await readMeta(database)).get(masksOf(name)) ?? '{}';
  const done = readDone(remembered);
  const wanted = Object.fromEntries(
    // Without a key, the previous one is kept.
    Object.entries(describeMasks(stream, hashKey)).map(([field, how]) =>
      hashKey === undefined && how !== 'exclude'
        ? [field, done.get(foldConfiguredName(field)) ?? 'hash']
        : [field, how],
    ),
  );
  const masks = JSON.stringify(wanted);
  if (masks === remembered) return { masked: undefined, masks: undefined, rehashed: [], remasked: [] };
  const fresh = Object.entries(columns).filter(
    ([field, { kind }]) => kind !== 'type' && kindOf(done.get(foldConfiguredName(field))) !== kind,
  );
  const masked = fresh.length === 0 ? undefined : findMaskedColumns(Object.fromEntries(fresh), learned);
  const rehashed = Object.keys(wanted).filter((field) => {
    const before = done.get(foldConfiguredName(field));
    // Files of earlier versions do not record the key.
    return before?.startsWith('hash:') === true && isHash(wanted[field]) && before !== wanted[field];
  });
  const now = readDone(masks);
  const remasked = [...new Set([...done.keys(), ...now.keys()])].filter(
    (field) => isHash(done.get(field)) !== isHash(now.get(field)),
  );
  return { masked, masks, rehashed, remasked };
}

/** How fields are masked, by their names in one spelling: a rule that is only spelled differently is the same. */
function readDone(masks: string): ReadonlyMap<string, string> {
  const fields = JSON.parse(masks) as MaskedFields;
  return new Map(Object.entries(fields).map(([field, how]) => [foldConfiguredName(field), how]));
}

function isHash(how: string | undefined): boolean {
  return kindOf(how) === 'hash';
}

function kindOf(how: string | undefined): string | undefined {
  return how?.split(':', 1)[0];
}

function masksOf(stream: string): string {
  return `masks.${stream}`;
}

async function askForced(
  database: Database,
  { table }: Stream,
  forced: CheckedScan['forced'],
  existing: readonly LearnedColumn[],
): Promise<ReadonlyMap<string, ForcedColumn>> {
  const known = new Map(existing.map((column) => [pathKey(column.path), column]));
  const found = new Map<string, ForcedColumn>();
  for (const { path, type: chosen, converts, isExact } of forced) {
    const column = known.get(pathKey(path));
    const isDouble = isExact === true && column?.type === 'DOUBLE';
    const type = isDouble ? await addHeldDecimals(database, table, column.name, chosen) : chosen;
    const isSame = column === undefined || column.type === 'NULL' || column.type === type;
    const survives =
      isSame ||
      (await convertsExactly(database, table, {
        column: column.name,
        from: column.type,
        to: type,
        jsonTypes: column.jsonTypes,
      }));
    found.set(pathKey(path), { type, converts, survives, isExact });
  }
  return found;
}

/** A decimal with room for the doubles that a table has as well. */
async function addHeldDecimals(
  database: Database,
  table: string,
  column: string,
  type: ForcedType,
): Promise<ForcedType> {
  let wanted = type;
  for (const { whole, scale } of await listDigits(database, table, column))
    wanted = addDecimals(wanted, whole, scale);
  return wanted;
}

interface KnownColumns {
  readonly existing: readonly LearnedColumn[];
  readonly forced: ReadonlyMap<string, ForcedColumn>;
}

async function resolveWithTable(
  database: Database,
  { table }: Stream,
  tree: FieldTree,
  { existing, forced }: KnownColumns,
): Promise<readonly ColumnPlan[]> {
  // Only the table shows which casts are exact: collect the questions, run them, decide again.
  const questions = new Map<string, Parameters<Parameters<typeof resolveColumns>[2]>>();
  const ask = (...question: Parameters<Parameters<typeof resolveColumns>[2]>) =>
    questions.set(question.join(' '), question) !== undefined;
  const columns = resolveColumns(tree, existing, ask, forced);
  if (questions.size === 0) return columns;
  const answers = new Map<string, boolean>();
  for (const [id, [column, from, to]] of questions) {
    answers.set(id, await survivesCast(database, table, { column, from, to }));
  }
  return resolveColumns(tree, existing, (...question) => answers.get(question.join(' ')) ?? false, forced);
}

function planRetyping(
  column: ColumnPlan,
  columns: readonly ColumnPlan[],
  existing: readonly LearnedColumn[],
): readonly Retyping[] {
  const { name, type, existingType, forcedType, companion } = column;
  if (existingType === undefined || existingType === 'NULL' || existingType === type || companion) return [];
  const beside = findCompanion(column, columns);
  // A column that becomes text takes its companion's values back.
  const to = forcedType ?? (type === 'VARCHAR' && beside !== undefined ? type : undefined);
  if (to === undefined) return [];
  const change = forcedType === undefined ? 'widened' : 'replaced';
  const jsonTypes = existing.find((one) => one.name === name)?.jsonTypes;
  return [{ column: name, from: existingType, to, jsonTypes, companion: beside?.name, change }];
}

/**
 * Applies config's column rules to an existing table; call first in the transaction that commits the scan. Returns
 * the changes, and the planned columns relative to the changed table.
 */
export async function applyColumnChanges(
  database: Database,
  stream: Stream,
  columns: readonly ColumnPlan[],
  { masked, retyped }: ColumnChanges,
): Promise<{ readonly columns: readonly ColumnPlan[]; readonly changes: readonly SchemaChange[] }> {
  const changes: SchemaChange[] = [];
  for (const { name, type } of masked?.dropped ?? []) {
    if (type === 'NULL') continue;
    await dropColumn(database, stream.table, name);
    changes.push({ column: name, change: 'removed', fromType: type, toType: undefined });
  }
  for (const { column, type } of masked?.cleared ?? []) {
    await clearColumn(database, stream.table, column.name, type);
    changes.push({ column: column.name, change: 'replaced', fromType: column.type, toType: type });
  }
  for (const retyping of retyped) changes.push(...(await retypeColumn(database, stream.table, retyping)));
  const done = new Set(retyped.flatMap(({ column, companion }) => [column, companion]));
  const settled = columns.map((column) =>
    done.has(column.name) ? { ...column, existingType: column.type } : column,
  );
  return { columns: settled, changes };
}

/** Records what is masked, and deletes unmasked values outside of the table; in the same transaction. */
export async function rememberMasks(
  database: Database,
  stream: Stream,
  { masked, masks, rehashed }: ColumnChanges,
): Promise<void> {
  if (masked !== undefined || rehashed.length > 0) await forgetUnmasked(database, stream.name);
  if (masked !== undefined) {
    // Names of members may be personal, too: those of a map.
    await forgetElements(database, stream.name);
    if (await wasSynced(database, stream)) await scheduleForgetting(database);
  }
  if (masks === undefined) return;
  // Rows of a first scan that was never committed may be in the free space, as they were without these masks.
  if (masks !== '{}' && (await hasFreeSpace(database))) await scheduleCompaction(database);
  await writeMeta(database, masksOf(stream.name), masks);
}

async function hasFreeSpace(database: Database): Promise<boolean> {
  const blocks = await database.count(
    'SELECT free_blocks FROM pragma_database_size() WHERE database_name = current_database()',
  );
  return blocks > 0;
}

/** Whether an earlier scan of the stream, or of another of its slices, is in the file. */
async function wasSynced(database: Database, { name }: Stream): Promise<boolean> {
  const found = await database.count(
    `SELECT (SELECT count(*) FROM _sluice.contracts WHERE stream = $1)
          + (SELECT count(*) FROM _sluice.checkpoints WHERE stream = $1)`,
    [name],
  );
  return found > 0;
}
