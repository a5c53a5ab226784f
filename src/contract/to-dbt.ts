import type { ExportedColumn, ExportedTable } from './exported-table.ts';

/** A dbt `sources.yml` of published tables; its tests are what the rows keep to now. */
export function toDbtSources(tables: readonly ExportedTable[], database: string): string {
  return [
    'version: 2',
    '',
    'sources:',
    '  - name: sluice',
    `    database: ${quote(database)}`,
    '    schema: main',
    '    tables:',
    ...tables.flatMap(writeTable),
    '',
  ].join('\n');
}

function writeTable({ stream, table, columns, key }: ExportedTable): readonly string[] {
  const [only] = key?.length === 1 ? key : [];
  return [
    `      - name: ${quote(table)}`,
    `        description: ${quote(describe(stream, key))}`,
    '        loaded_at_field: _synced_at',
    '        columns:',
    ...columns.flatMap((column) => writeColumn(column, column.name === only)),
  ];
}

function describe(stream: string, key: readonly string[] | undefined): string {
  return key === undefined
    ? `Stream ${stream}, without a key.`
    : `Stream ${stream}, one row for each (${key.join(', ')}).`;
}

function writeColumn({ name, type, field, required }: ExportedColumn, isKey: boolean): readonly string[] {
  const tests = [...(required && field !== undefined ? ['not_null'] : []), ...(isKey ? ['unique'] : [])];
  return [
    `          - name: ${quote(name)}`,
    '            quote: true',
    `            data_type: ${quote(type)}`,
    ...(field === undefined || field === name
      ? []
      : [`            description: ${quote(`Field ${field}.`)}`]),
    ...(tests.length === 0 ? [] : [`            data_tests: [${tests.join(', ')}]`]),
  ];
}

/** A text in double quotes, which YAML reads as JSON does. */
function quote(text: string): string {
  return JSON.stringify(text.toWellFormed());
}
