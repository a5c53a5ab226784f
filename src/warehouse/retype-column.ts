import type { SchemaChange } from '../model/run-report.ts';
import type { ColumnType, ForcedType } from '../model/schema.ts';
import type { Database } from './database.ts';
import { listTablesWith, readColumns, tableName } from './evolve-table.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';

/** A column whose type config changes. */
export interface Retyping {
  readonly column: string;
  readonly from: ColumnType;
  readonly to: ForcedType;
  /** Column that takes the values which the new type does not hold; undefined where it holds them all. */
  readonly companion: string | undefined;
}

/** Whether every value of a column, those of earlier versions included, can be converted to a type as it stands. */
export async function convertsExactly(
  database: Database,
  table: string,
  { column, from, to }: Omit<Retyping, 'companion'>,
): Promise<boolean> {
  const { survives } = convert(quoteIdentifier(column), from, to);
  for (const held of await listTablesWith(database, table, column)) {
    const lost = await database.count(
      `SELECT count(*) FROM ${tableName(held)} WHERE ${quoteIdentifier(column)} IS NOT NULL AND (${survives}) IS NOT TRUE`,
    );
    if (lost > 0) return false;
  }
  return true;
}

/**
 * Gives a column, of the table and of its history, another type; what the type does not hold goes to the
 * companion as text. Nothing but ALTERs, so that it may precede other changes of the transaction.
 */
export async function retypeColumn(
  database: Database,
  table: string,
  retyping: Retyping,
): Promise<readonly SchemaChange[]> {
  const { column, from, to, companion } = retyping;
  const name = quoteIdentifier(column);
  const { value, survives, text } = convert(name, from, to);
  let isNew = false;
  for (const held of await listTablesWith(database, table, column)) {
    const alter = `ALTER TABLE ${tableName(held)}`;
    if (companion !== undefined) {
      const beside = quoteIdentifier(companion);
      const columns = await readColumns(database, held);
      if (!columns.has(companion)) {
        await database.run(`${alter} ADD COLUMN ${beside} VARCHAR`);
        isNew ||= held === table;
      }
      await database.run(
        `${alter} ALTER COLUMN ${beside} SET DATA TYPE VARCHAR USING
           coalesce(${beside}, CASE WHEN ${name} IS NOT NULL AND (${survives}) IS NOT TRUE THEN ${text} END)`,
      );
    }
    await database.run(
      `${alter} ALTER COLUMN ${name} SET DATA TYPE ${to} USING CASE WHEN ${survives} THEN ${value} END`,
    );
  }
  return [
    { column, change: 'replaced', fromType: from, toType: to },
    ...(isNew && companion !== undefined
      ? [{ column: companion, change: 'added', fromType: undefined, toType: 'VARCHAR' } as const]
      : []),
  ];
}

/** SQL over a column: its values in another type, which of them survive that, and all of them as text. */
interface Conversion {
  readonly value: string;
  readonly survives: string;
  readonly text: string;
}

function convert(column: string, from: ColumnType, to: ForcedType): Conversion {
  // A text in a JSON column is written with its quotes; everything else there is its own text.
  const text =
    from === 'JSON'
      ? `CASE WHEN json_type(${column}) = 'VARCHAR' THEN ${column} ->> '$' ELSE CAST(${column} AS VARCHAR) END`
      : `CAST(${column} AS VARCHAR)`;
  if (to === 'VARCHAR') return { value: text, survives: 'true', text };
  if (to === 'JSON') return { value: toJson(column, from, text), survives: 'true', text };
  if (from === 'VARCHAR' || from === 'JSON') {
    const value = `TRY_CAST(${text} AS ${to})`;
    return { value, survives: `${isSpelt(text, to)} AND ${value} IS NOT NULL`, text };
  }
  const value = `TRY_CAST(${column} AS ${to})`;
  return { value, survives: `TRY_CAST(${value} AS ${from}) IS NOT DISTINCT FROM ${column}`, text };
}

function toJson(column: string, from: ColumnType, text: string): string {
  const isPlain =
    from === 'BOOLEAN' ||
    from === 'BIGINT' ||
    from === 'HUGEINT' ||
    from === 'DOUBLE' ||
    from.startsWith('DECIMAL');
  // The engine would make a double of a long number.
  return isPlain ? `TRY_CAST(${text} AS JSON)` : `to_json(CAST(${column} AS VARCHAR))`;
}

const DAY = '[0-9]{4}-[0-9]{2}-[0-9]{2}';
const TIME = '[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?';
const ZONE = '([Zz]|[+-][0-9]{2}(:?[0-9]{2})?)';
const WHOLE = '-?(0|[1-9][0-9]*)';

/** SQL for whether a text is spelt as a value of the type: the engine's casts also take what only comes near. */
function isSpelt(text: string, to: ForcedType): string {
  const matches = (pattern: string) => `regexp_full_match(${text}, ${quoteLiteral(pattern)})`;
  switch (to) {
    case 'BOOLEAN':
      return matches('true|false');
    case 'BIGINT':
    case 'HUGEINT':
      return matches(WHOLE);
    case 'DOUBLE':
      // Fifteen digits always survive.
      return `${matches(`${WHOLE}([.][0-9]+)?`)} AND length(${text}) <= 15`;
    case 'DATE':
      return matches(DAY);
    case 'TIMESTAMP':
      return matches(DAY + TIME);
    case 'TIMESTAMPTZ':
      return matches(DAY + TIME + ZONE);
    default: {
      const scale = Number(/,(\d+)\)$/.exec(to)?.[1] ?? 0);
      return matches(scale === 0 ? `${WHOLE}([.]0+)?` : `${WHOLE}([.][0-9]{1,${scale}}0*)?`);
    }
  }
}
