import { readElements, writeElements } from '../../state/elements.ts';
import type { Stream } from '../model/stream.ts';
import type { Loading } from '../run/run-context.ts';
import type { SeenElements } from '../run/scan.ts';
import type { ElementFields } from '../schema/observe-fields.ts';
import {
  createElementFields,
  observeArrays,
  ONLY_NULLS,
  packElementFields,
  ROUNDED,
  unpackElementFields,
} from '../schema/element-fields.ts';
import type { Database } from '../warehouse/database.ts';
import { readColumns, tableName } from '../warehouse/evolve-table.ts';
import { quoteIdentifier, quoteLiteral } from '../warehouse/identifiers.ts';

/** Most bytes of arrays that are read at once, as far as rows next to each other are alike: they are in memory. */
const BYTES_AT_ONCE = 4 * 2 ** 20;
/** Rows whose bytes are counted together. */
const ROWS_OF_PART = 1024n;

/**
 * Learns which fields the elements of arrays have, from the rows that this run wrote: the views of these elements have
 * a column for each. A column that was never looked at is read in all rows, once. Call in the transaction of the
 * commit, after its rows.
 *
 * @param rows those that this run wrote, also those of earlier runs, or none if it wrote none
 * @param seen what their arrays hold, if that is known: they are not read again then
 */
export async function learnElements(
  { database, runId }: Pick<Loading, 'database' | 'runId'>,
  { name, table }: Pick<Stream, 'name' | 'table'>,
  rows: 'written' | 'all' | 'none' = 'written',
  seen?: SeenElements,
): Promise<void> {
  const before = await readElements(database, name);
  const columns = [...(await readColumns(database, table))].filter(([, type]) => type === 'JSON');
  if (columns.length === 0 && before.size === 0) return;
  const learned = new Map<string, string>();
  for (const [column] of columns) {
    const known = before.get(column);
    if (known !== undefined && rows === 'none') {
      learned.set(column, known);
      continue;
    }
    const fields = known === undefined ? createElementFields() : unpackElementFields([known]);
    const isNew = rows === 'all' || known === undefined;
    if (seen !== undefined && (!isNew || (await countRows(database, table)) === seen.records)) {
      learned.set(column, addSeen(known, seen.byColumn.get(column)));
      continue;
    }
    await observeColumn(database, fields, { table, column, runId: isNew ? undefined : runId });
    learned.set(column, packElementFields(fields));
  }
  const isSame =
    learned.size === before.size && [...learned].every(([column, text]) => before.get(column) === text);
  if (!isSame) await writeElements(database, name, learned, runId);
}

const countRows = (database: Database, table: string): Promise<number> =>
  database.count(`SELECT count(*) FROM ${tableName(table)}`);

function addSeen(known: string | undefined, seen: ElementFields = createElementFields()): string {
  const texts = [packElementFields(seen), ...(known === undefined ? [] : [known])];
  return packElementFields(unpackElementFields(texts));
}

interface ArrayColumn {
  readonly table: string;
  readonly column: string;
  /** Only rows of this run; all if undefined. */
  readonly runId: string | undefined;
}

/** The rows of a column, as SQL. */
interface ArrayRows {
  /** A row's JSON as text. */
  readonly text: string;
  /** `FROM` and conditions, to which others may be added. */
  readonly from: string;
  readonly values: readonly string[];
}

async function observeColumn(
  database: Database,
  fields: ElementFields,
  { table, column, runId }: ArrayColumn,
): Promise<void> {
  const rows: ArrayRows = {
    text: `CAST(${quoteIdentifier(column)} AS VARCHAR)`,
    from: `FROM ${tableName(table)} WHERE ${runId === undefined ? 'true' : '_run_id = $1'}`,
    values: runId === undefined ? [] : [runId],
  };
  await observeObjects(database, fields, rows);
  if (!fields.hasOthers || !fields.needsExact) await observeValues(database, fields, rows);
}

/** Looks at arrays with a brace, which may be in a text. */
async function observeObjects(
  database: Database,
  fields: ElementFields,
  { text, from: all, values }: ArrayRows,
): Promise<void> {
  const from = `${all} AND ${text} LIKE '[%{%'`;
  const parts = await database.all(
    `SELECT CAST(rowid // ${ROWS_OF_PART} AS VARCHAR) AS part, CAST(sum(strlen(${text})) AS DOUBLE) AS bytes
       ${from} GROUP BY rowid // ${ROWS_OF_PART} ORDER BY rowid // ${ROWS_OF_PART}`,
    values,
  );
  for (const range of planReads(
    parts.map(({ part, bytes }) => ({ part: BigInt(String(part)), bytes: Number(bytes) })),
  )) {
    // As one text: a row of its own for each takes longer than all the rest.
    const [found] = await database.all(
      `SELECT string_agg(${text}, ',') AS texts ${from} AND rowid >= ${range.from} AND rowid < ${range.to}`,
      values,
    );
    if (typeof found?.['texts'] === 'string') observeArrays(fields, found['texts']);
  }
}

/** Arrays without a brace hold no object, but values that a view shows whole: the engine looks at these. */
async function observeValues(
  database: Database,
  fields: ElementFields,
  { text, from, values }: ArrayRows,
): Promise<void> {
  const [found] = await database.all(
    `SELECT bool_or(NOT regexp_full_match(${text}, ${quoteLiteral(ONLY_NULLS)})) AS others,
            bool_or(regexp_matches(${text}, ${quoteLiteral(ROUNDED)})) AS exact
       ${from} AND ${text} LIKE '[%' AND ${text} NOT LIKE '%{%'`,
    values,
  );
  fields.hasOthers ||= found?.['others'] === true;
  fields.needsExact ||= found?.['exact'] === true;
}

interface RowRange {
  readonly from: bigint;
  readonly to: bigint;
}

/** Rows to read at once. Row numbers are beyond what a double holds until they are committed. */
function planReads(parts: readonly { readonly part: bigint; readonly bytes: number }[]): readonly RowRange[] {
  const ranges: RowRange[] = [];
  let bytes = Infinity;
  for (const { part, bytes: more } of parts) {
    const from = part * ROWS_OF_PART;
    const to = from + ROWS_OF_PART;
    const last = ranges.at(-1);
    if (last !== undefined && bytes + more <= BYTES_AT_ONCE) {
      ranges[ranges.length - 1] = { from: last.from, to };
      bytes += more;
      continue;
    }
    const step = BigInt(Math.max(1, Math.floor(Number(ROWS_OF_PART) / Math.ceil(more / BYTES_AT_ONCE))));
    for (let first = from; first < to; first += step)
      ranges.push({ from: first, to: first + step < to ? first + step : to });
    // The rest of a large part is not known.
    bytes = more <= BYTES_AT_ONCE ? more : Infinity;
  }
  return ranges;
}
