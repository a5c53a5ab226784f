import { describeNotes, type ExportedColumn, type ExportedTable } from './exported-table.ts';

/** A published table as a source of dbt. */
export interface DbtTable extends ExportedTable {
  /** Columns that together tell the live rows apart; undefined where nothing is known to. */
  readonly uniqueBy: readonly string[] | undefined;
  /** Names of the columns in which a contract file allows no null. */
  readonly neverNull: ReadonlySet<string>;
  /** SQL that gives the time of the last verified scan. */
  readonly loadedAt: string;
  /** Age at which data that was not verified again is late. */
  readonly lateAfterHours: number;
  /** SQL that dbt-duckdb reads the table by; undefined where it is in the database. */
  readonly location: string | undefined;
}

/** A dbt `sources.yml` of published tables; undefined as database for tables that are in none. */
export function toDbtSources(tables: readonly DbtTable[], database: string | undefined): string {
  return [
    'version: 2',
    '',
    'sources:',
    '  - name: sluice',
    ...(database === undefined ? [] : [`    database: ${quote(database)}`]),
    '    schema: main',
    '    tables:',
    ...tables.flatMap(writeTable),
    '',
  ].join('\n');
}

function writeTable(table: DbtTable): readonly string[] {
  const { columns, uniqueBy, loadedAt, lateAfterHours, location } = table;
  const [only] = uniqueBy?.length === 1 ? uniqueBy : [];
  return [
    `      - name: ${quote(table.table)}`,
    `        description: ${quote(describe(table))}`,
    '        config:',
    `          loaded_at_query: ${quote(loadedAt)}`,
    '          freshness:',
    `            warn_after: { count: ${lateAfterHours}, period: hour }`,
    `            error_after: { count: ${lateAfterHours * 2}, period: hour }`,
    ...(location === undefined
      ? []
      : [
          '          meta:',
          // The other ways to fill in names would take the braces of SQL for theirs.
          '            formatter: template',
          `            external_location: ${quote(location.replaceAll('$', '$$$$'))}`,
        ]),
    ...(uniqueBy === undefined || only !== undefined
      ? []
      : ['        data_tests:', ...writeUnique(table, uniqueBy, '          ')]),
    '        columns:',
    ...columns.flatMap((column) => writeColumn(table, column, column.name === only)),
  ];
}

function describe({ stream, key, description }: ExportedTable): string {
  const about =
    key === undefined
      ? `Stream ${stream}, without a key.`
      : `Stream ${stream}, one row for each (${key.join(', ')}).`;
  return [describeNotes({ description, unit: undefined }), about].filter((one) => one !== '').join(' ');
}

function writeColumn(table: DbtTable, column: ExportedColumn, isUnique: boolean): readonly string[] {
  const { name, type, field } = column;
  const indent = '              ';
  const source = field === undefined || field === name ? '' : `Field ${field}.`;
  const about = [describeNotes(column), source].filter((one) => one !== '').join(' ');
  const tests = [
    ...(table.neverNull.has(name) ? writeTest('not_null', onlyLive(table, indent), indent) : []),
    ...(isUnique ? writeUnique(table, undefined, indent) : []),
  ];
  return [
    `          - name: ${quote(name)}`,
    '            quote: true',
    `            data_type: ${quote(type)}`,
    ...(about === '' ? [] : [`            description: ${quote(about)}`]),
    ...(tests.length === 0 ? [] : ['            data_tests:', ...tests]),
  ];
}

/** dbt's own test, which also takes an expression; of several columns a row is one that has no null of its own. */
function writeUnique(
  table: ExportedTable,
  names: readonly string[] | undefined,
  indent: string,
): readonly string[] {
  const column =
    names === undefined
      ? []
      : [
          `${indent}    arguments:`,
          `${indent}      column_name: ${quote(`row(${names.map(quoteName).join(', ')})`)}`,
        ];
  return writeTest('unique', [...column, ...onlyLive(table, indent)], indent);
}

/** A row that was marked may have the key of a live one, and be older than the contract file. */
function onlyLive({ columns }: ExportedTable, indent: string): readonly string[] {
  const isMarkable = columns.some(({ name }) => name === '_deleted_at');
  return isMarkable ? [`${indent}    config:`, `${indent}      where: _deleted_at is null`] : [];
}

function writeTest(name: string, details: readonly string[], indent: string): readonly string[] {
  return details.length === 0 ? [`${indent}- ${name}`] : [`${indent}- ${name}:`, ...details];
}

function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A text in double quotes, which YAML reads as JSON does, and in which dbt finds no template of its own. */
function quote(text: string): string {
  return JSON.stringify(text.toWellFormed().replaceAll(/\{(?=[{%#])/g, "{{ '{' }}"));
}
