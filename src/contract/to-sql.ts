import type { ExportedTable } from './exported-table.ts';

/** SQL statements that make tables with the columns of the published ones, in DuckDB's words. */
export function toSql(tables: readonly ExportedTable[]): string {
  return tables.map(writeTable).join('\n');
}

function writeTable({ table, columns, key }: ExportedTable): string {
  const lines = columns.map(({ name, type, field }, at) => {
    const comma = at === columns.length - 1 ? '' : ',';
    const comment = field === undefined || field === name ? '' : ` -- ${writeComment(field)}`;
    return `  ${quote(name)} ${type}${comma}${comment}`;
  });
  const about = key === undefined ? '' : `-- One row for each (${writeComment(key.join(', '))}).\n`;
  return `${about}CREATE TABLE ${quote('main')}.${quote(table)} (\n${lines.join('\n')}\n);\n`;
}

// A line break in a name would end the comment.
function writeComment(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ');
}

function quote(name: string): string {
  return `"${name.replaceAll('\u0000', '').replaceAll('"', '""')}"`;
}
