import type { ElementFields } from '../schema/observe-fields.ts';
import { quoteIdentifier, quoteLiteral } from '../warehouse/identifiers.ts';
import { listParentColumns } from './parent-columns.ts';
import { tagNumbers, untagNumbers } from './json-text.ts';
import type { Dialect, ElementColumn, ViewTable } from './view.ts';

const ELEMENT = '"~element"';

/** SQL of the engine, also for a DuckLake. */
export function createEngineDialect(locate: Dialect['locate']): Dialect {
  return {
    locate,
    mayName: () => true,
    readMember: (column, member) => `(${column} ->> ${quoteLiteral(`$.${member}`)})`,
    readElements: (table, column, fields, seen) => readElements(locate, { table, column, fields, seen }),
  };
}

interface Elements {
  readonly table: ViewTable;
  readonly column: string;
  readonly fields: readonly ElementColumn[];
  readonly seen: ElementFields;
}

function readElements(locate: Dialect['locate'], { table, column, fields, seen }: Elements): string {
  const isTagged = seen.needsExact || fields.some(({ mixesNumbers }) => mixesNumbers);
  const array = quoteIdentifier(column);
  const parents = listParentColumns(table);
  const columns = fields.map((field) => `${readField(field, isTagged)} AS ${quoteIdentifier(field.name)}`);
  const [before, after] = [parents.before.map(quoteIdentifier), parents.after.map(quoteIdentifier)];
  const names = new Set([...table.columns.keys(), ...fields.map(({ name }) => name)]);
  const value = holdsValues(seen)
    ? [`${readOthers(seen, isTagged)} AS ${quoteIdentifier(nameValue(names))}`]
    : [];
  const tagged = isTagged ? tagNumbers(array) : array;
  const all = isTagged ? '$[0][*]' : '$[*]';
  const count = isTagged ? `json_array_length("~array", '$[0]')` : `json_array_length("~array")`;
  return `SELECT ${[...before, '_index', ...columns, ...value, ...after].join(', ')} FROM (
    SELECT ${[...before, ...after, `unnest(range(CAST(${count} AS BIGINT))) AS _index`, `unnest(json_extract("~array", '${all}')) AS ${ELEMENT}`].join(', ')} FROM (
      SELECT ${[...before, ...after, `${tagged} AS "~array"`].join(', ')} FROM ${locate('main', table.name)} WHERE json_type(${array}) = 'ARRAY'))`;
}

/** Whether some elements are shown whole: those that are not objects, and maps. */
export function holdsValues({ hasOthers, isMap }: ElementFields): boolean {
  return hasOthers || isMap;
}

/** The column of elements that are shown whole; `_value` unless a field or the parent has that name. */
export function nameValue(names: ReadonlySet<string>): string {
  let name = '_value';
  while (names.has(name)) name = `_${name}`;
  return name;
}

function readOthers({ isMap }: ElementFields, isTagged: boolean): string {
  return `CASE WHEN json_type(${ELEMENT}) NOT IN (${isMap ? `'NULL'` : `'OBJECT', 'NULL'`}) THEN ${isTagged ? untagNumbers(ELEMENT) : ELEMENT} END`;
}

function readField(column: ElementColumn, isTagged: boolean): string {
  const { path } = column;
  const value = readValue(column, isTagged);
  // The engine takes such a name for a place in an array; a name with a tag is none.
  const places = isTagged ? [] : path.flatMap((name, at) => (/^\d+$/.test(name) ? [path.slice(0, at)] : []));
  const areObjects = places.map(
    (parent) => `json_type(${ELEMENT}, ${writePointer(parent, false)}) = 'OBJECT'`,
  );
  return areObjects.length === 0 ? value : `CASE WHEN ${areObjects.join(' AND ')} THEN ${value} END`;
}

function writePointer(path: readonly string[], isTagged: boolean): string {
  return quoteLiteral(
    path.map((name) => `/${isTagged ? 's' : ''}${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
  );
}

function readValue({ path, type }: ElementColumn, isTagged: boolean): string {
  const pointer = writePointer(path, isTagged);
  if (type === 'JSON') {
    const member = `json_extract(${ELEMENT}, ${pointer})`;
    const value = isTagged ? untagNumbers(member) : member;
    return `CASE WHEN json_type(${member}) <> 'NULL' THEN ${value} END`;
  }
  const member = `json_extract_string(${ELEMENT}, ${pointer})`;
  if (type === 'BOOLEAN') return `CAST(${member} AS BOOLEAN)`;
  const text = isTagged ? `substr(${member}, 2)` : member;
  if (type === 'VARCHAR')
    return isTagged ? `CASE WHEN ${member} IN ('true', 'false') THEN ${member} ELSE ${text} END` : text;
  return `CAST(${type.startsWith('TIMESTAMP') ? spellTimestamp(text) : text} AS ${type})`;
}

/** The engine does not read all spellings of ISO 8601 that a field may have. */
function spellTimestamp(text: string): string {
  const seconds = String.raw`^(.{10}).(\d\d:\d\d)($|[Zz+-])`;
  const whole = `regexp_replace(replace(${text}, ',', '.'), ${quoteLiteral(seconds)}, ${quoteLiteral(String.raw`\1 \2:00\3`)})`;
  return `regexp_replace(${whole}, '[Zz]$', '+00')`;
}
