import type { ElementFields } from '../schema/observe-fields.ts';
import { quoteIdentifier, quoteLiteral } from '../warehouse/identifiers.ts';
import { holdsValues, nameValue } from './engine-dialect.ts';
import { listParentColumns } from './parent-columns.ts';
import type { Dialect, ElementColumn, ViewTable } from './view.ts';

/** SQL of Postgres. Its JSON keeps numbers as they are written. */
export function createPostgresDialect(locate: Dialect['locate'], mayName: Dialect['mayName']): Dialect {
  return {
    locate,
    mayName,
    readMember: (column, member) => `(${column} ->> ${quoteLiteral(member)})`,
    readElements(table, column, fields, seen) {
      const parents = listParentColumns(table);
      const own = (names: readonly string[]) => names.map((name) => `p.${quoteIdentifier(name)}`);
      const columns = [
        ...own(parents.before),
        'CAST(e.nth - 1 AS bigint) AS _index',
        ...fields.map((field) => `${readField(field)} AS ${quoteIdentifier(field.name)}`),
        ...listOthers(table, fields, seen),
        ...own(parents.after),
      ];
      const array = `p.${quoteIdentifier(column)}`;
      return `SELECT ${columns.join(', ')} FROM ${locate('main', table.name)} AS p CROSS JOIN LATERAL
        json_array_elements(CASE WHEN json_typeof(${array}) = 'array' THEN ${array} ELSE '[]' END) WITH ORDINALITY AS e(value, nth)`;
    },
  };
}

function listOthers(
  table: ViewTable,
  fields: readonly ElementColumn[],
  seen: ElementFields,
): readonly string[] {
  const names = new Set([...table.columns.keys(), ...fields.map(({ name }) => name)]);
  const value = `CASE WHEN json_typeof(e.value) NOT IN (${seen.isMap ? `'null'` : `'object', 'null'`}) THEN e.value END`;
  return holdsValues(seen) ? [`${value} AS ${quoteIdentifier(nameValue(names))}`] : [];
}

function readField({ path, type }: ElementColumn): string {
  const parts = path.map(quoteLiteral);
  const json = `(${['e.value', ...parts].join(' -> ')})`;
  if (type === 'JSON') return `CASE WHEN json_typeof(${json}) <> 'null' THEN ${json} END`;
  const text = `(${['e.value', ...parts.slice(0, -1)].join(' -> ')} ->> ${parts.at(-1) ?? ''})`;
  switch (type) {
    case 'VARCHAR':
      return text;
    case 'BIGINT':
      // An integer may be written as 1.0.
      return `CAST(CAST(${text} AS numeric) AS bigint)`;
    case 'HUGEINT':
      return `CAST(${text} AS numeric)`;
    case 'DOUBLE':
      return `CAST(${text} AS double precision)`;
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ':
      return `CAST(replace(${text}, ',', '.') AS ${type})`;
    default:
      return `CAST(${text} AS ${type})`;
  }
}
