import type { SqlSession } from '../model/sql.ts';
import { chooseCommonType, convertTo, isHeldBy } from './common-type.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';

/** A table of one account. */
export interface TablePart {
  readonly account: string;
  /** SQL that its rows are selected from. */
  readonly from: string;
  /** With engine types, in the order of the table. */
  readonly columns: readonly PartColumn[];
}

export interface PartColumn {
  readonly name: string;
  readonly type: string;
}

/** The tables of one name, of all accounts that have it. */
export interface TableParts {
  readonly schema: string;
  /** As the first account writes it. */
  readonly name: string;
  readonly parts: readonly TablePart[];
}

/** A column of the joined table. */
interface JoinedColumn {
  /** As the first account that has it writes it. */
  readonly name: string;
  readonly type: string;
}

/** Names that the engine treats as equal have the same key: it ignores the case of ASCII letters only. */
export function keyOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** The tables of several accounts by schema and name. */
export function groupParts(
  tables: readonly (TablePart & { readonly schema: string; readonly name: string })[],
): readonly TableParts[] {
  const groups = Map.groupBy(tables, ({ schema, name }) => `${schema}.${keyOf(name)}`);
  return [...groups.values()].flatMap((parts) => {
    const [first] = parts;
    return first === undefined ? [] : [{ schema: first.schema, name: first.name, parts }];
  });
}

/**
 * SQL for the rows of all accounts. Its first column names the account: `account`, or `_account` if a table has a
 * column of that name, with one more underscore for each name that is also taken, so that no data is hidden. Columns
 * that only some accounts have are NULL elsewhere. If types differ, one is chosen in which no value changes; that may
 * need to read the values.
 */
export async function joinTables(session: SqlSession, { parts }: TableParts): Promise<string> {
  const columns = await joinColumns(session, parts);
  const label = quoteIdentifier(nameAccountColumn([...columns.keys()]));
  const branches = parts.map((part) => {
    const own = part.columns.map(({ name, type }) => {
      const joined = columns.get(keyOf(name)) ?? { name, type };
      const value = convertTo(quoteIdentifier(name), type, joined.type);
      return `${value} AS ${quoteIdentifier(joined.name)}`;
    });
    return `SELECT ${[`${quoteLiteral(part.account)} AS ${label}`, ...own].join(', ')} FROM ${part.from}`;
  });
  return branches.join(' UNION ALL BY NAME ');
}

function nameAccountColumn(keys: readonly string[]): string {
  let name = 'account';
  while (keys.includes(name)) name = `_${name}`;
  return name;
}

async function joinColumns(
  session: SqlSession,
  parts: readonly TablePart[],
): Promise<ReadonlyMap<string, JoinedColumn>> {
  const all = Map.groupBy(
    parts.flatMap(({ from, columns }) => columns.map((column) => ({ ...column, from }))),
    ({ name }) => keyOf(name),
  );
  const joined = new Map<string, JoinedColumn>();
  for (const [key, same] of all) {
    const { type, ifHeld } = chooseCommonType(new Set(same.map((one) => one.type)));
    const isHeld = ifHeld !== undefined && (await holdsAll(session, same, ifHeld));
    joined.set(key, { name: same[0]?.name ?? key, type: isHeld ? ifHeld : type });
  }
  return joined;
}

async function holdsAll(
  session: SqlSession,
  columns: readonly (PartColumn & { readonly from: string })[],
  type: string,
): Promise<boolean> {
  const lost = columns
    .filter((column) => column.type !== type)
    .map(
      ({ name, type: from, from: table }) =>
        `SELECT 1 FROM ${table} WHERE NOT (${isHeldBy(quoteIdentifier(name), from, type)})`,
    );
  const rows = await session.all(`SELECT 1 FROM (${lost.join(' UNION ALL ')}) LIMIT 1`);
  return rows.length === 0;
}
