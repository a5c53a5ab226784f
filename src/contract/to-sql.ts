import { describeNotes, type ExportedTable } from './exported-table.ts';

/** SQL statements that make tables with the columns of the published ones, in DuckDB's words. */
export function toSql(tables: readonly ExportedTable[]): string {
  return tables.map(writeTable).join('\n');
}

function writeTable(exported: ExportedTable): string {
  const { table, columns, key } = exported;
  const lines = columns.map(({ name, type, field }, at) => {
    const comma = at === columns.length - 1 ? '' : ',';
    const comment = field === undefined || field === name ? '' : ` -- ${writeComment(field)}`;
    return `  ${quote(name)} ${type}${comma}${comment}`;
  });
  const about = key === undefined ? '' : `-- One row for each (${writeComment(key.join(', '))}).\n`;
  const place = `${quote('main')}.${quote(table)}`;
  return `${about}CREATE TABLE ${place} (\n${lines.join('\n')}\n);\n${writeComments(place, exported)}`;
}

/** What the contract file says, as comments that the tables keep. */
function writeComments(place: string, { description, columns }: ExportedTable): string {
  const all = [
    { what: `TABLE ${place}`, text: describeNotes({ description, unit: undefined }) },
    ...columns.map((column) => ({
      what: `COLUMN ${place}.${quote(column.name)}`,
      text: describeNotes(column),
    })),
  ];
  return all
    .filter(({ text }) => text !== '')
    .map(({ what, text }) => `COMMENT ON ${what} IS '${writeComment(text).replaceAll("'", "''")}';\n`)
    .join('');
}

// A line break in a name would end the comment.
function writeComment(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ');
}

function quote(name: string): string {
  return `"${name.replaceAll('\u0000', '').replaceAll('"', '""')}"`;
}
