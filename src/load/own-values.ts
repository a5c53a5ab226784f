import type { ParamValue, Stream } from '../model/stream.ts';
import { foldConfiguredName, foldFieldName } from '../schema/field-rules.ts';
import { toFieldName } from '../schema/field-paths.ts';
import type { FieldTree } from '../schema/observe-fields.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import type { Database } from '../warehouse/database.ts';
import { quoteIdentifier, quoteLiteral } from '../warehouse/identifiers.ts';
import { INCOMING } from '../warehouse/incoming.ts';
import { listSliceValues } from '../schema/mask-records.ts';

/** What the records of a slice show about one of its parameters, by a field with the parameter's name. */
export interface OwnValues {
  readonly param: string;
  /** The most significant field; undefined if no record has one. */
  readonly field: string | undefined;
  readonly records: number;
  /** Records with the slice's value, with the value of another slice, and with any other. */
  readonly own: number;
  readonly foreign: number;
  readonly other: number;
}

/** How many records have each field that the slice would fill in; counted before they are filled. */
export type CarriedFields = ReadonlyMap<string, number>;

export function countCarried({ slice }: Pick<Stream, 'slice'>, { root }: FieldTree): CarriedFields {
  return new Map(
    Object.keys(slice?.values ?? {}).map((name) => [name, root.children.get(name)?.filled ?? 0]),
  );
}

/** Whether every record has the value of its slice. */
export function areProved({ records, own }: OwnValues): boolean {
  return records > 0 && own === records;
}

/**
 * Whether records have values that the parameter should have excluded. A field without any of its values has a
 * different meaning.
 */
export function areContradicted({ own, foreign, other }: OwnValues): boolean {
  return foreign > 0 || (own > 0 && other > 0);
}

/** Counts the values of incoming records for each parameter of their slice. */
export async function readOwnValues(
  database: Database,
  { stream, hashKey }: { readonly stream: Stream; readonly hashKey: string | undefined },
  columns: readonly ColumnPlan[],
  carried: CarriedFields,
): Promise<readonly OwnValues[]> {
  const records = await database.count(`SELECT count(*) FROM ${INCOMING}`);
  const found: OwnValues[] = [];
  for (const param of Object.keys(stream.slice?.values ?? {})) {
    const silent = { param, field: undefined, records, own: 0, foreign: 0, other: 0 };
    const counted: OwnValues[] = [];
    for (const column of columns.filter((one) => speaksOf(one, param))) {
      const isFilledIn = column.path.length === 1 && toFieldName(column.path[0] ?? '') === param;
      const filledIn = isFilledIn ? records - Math.min(records, carried.get(param) ?? 0) : 0;
      if (filledIn === records) continue;
      const values = listValues(stream, hashKey, param);
      counted.push(await countValues(database, { ...silent, column, values, filledIn }));
    }
    found.push(counted.find(areProved) ?? counted.find(areContradicted) ?? counted[0] ?? silent);
  }
  return found;
}

const KIND_OF_NAME = /(?<=[a-z0-9])_+(id|ids|name|code|slug|key|value|label)$/;
const COMPARED_TYPES = ['VARCHAR', 'BIGINT', 'HUGEINT', 'BOOLEAN', 'DATE'];

/** Whether a column is named like a parameter: `entity`, `entityId`, `entity.name`. */
function speaksOf({ path, type, companion }: ColumnPlan, param: string): boolean {
  if (companion || !COMPARED_TYPES.includes(type)) return false;
  const toBase = (name: string) => name.replace(KIND_OF_NAME, '');
  return toBase(foldFieldName(path.map(toFieldName))) === toBase(foldConfiguredName(param));
}

interface SliceValues {
  readonly own: string;
  readonly foreign: readonly string[];
}

/** The values of this slice and of the others, masked as in the records. */
function listValues(stream: Stream, hashKey: string | undefined, param: string): SliceValues {
  const write = (value: ParamValue) => {
    const slice = stream.slice && { ...stream.slice, values: { [param]: value } };
    return fold(String(listSliceValues({ columns: stream.columns, slice }, hashKey)[param] ?? ''));
  };
  const own = stream.slice?.values[param] ?? '';
  const all = new Set(stream.slices.map(({ values }) => values[param] ?? ''));
  const written = write(own);
  return { own: written, foreign: [...all].map(write).filter((value) => value !== written) };
}

function fold(text: string): string {
  return text.trim().toLowerCase();
}

async function countValues(
  database: Database,
  {
    column,
    values,
    filledIn,
    ...silent
  }: OwnValues & { readonly column: ColumnPlan; readonly values: SliceValues; readonly filledIn: number },
): Promise<OwnValues> {
  const text = `lower(trim(CAST(${quoteIdentifier(column.name)} AS VARCHAR)))`;
  const foreign =
    values.foreign.length === 0 ? 'false' : `v IN (${values.foreign.map(quoteLiteral).join(', ')})`;
  const isOwn = `v = ${quoteLiteral(values.own)}`;
  const [row = {}] = await database.all(
    `SELECT count(*) FILTER (${isOwn}) AS own, count(*) FILTER (${foreign}) AS strange,
       count(*) FILTER (v IS NOT NULL AND NOT (${isOwn}) AND NOT (${foreign})) AS other
     FROM (SELECT ${text} AS v FROM ${INCOMING})`,
  );
  return {
    ...silent,
    field: column.path.map(toFieldName).join('.'),
    own: Math.max(0, Number(row['own']) - filledIn),
    foreign: Number(row['strange']),
    other: Number(row['other']),
  };
}
