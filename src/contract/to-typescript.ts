import { describeNotes, type ExportedColumn, type ExportedTable } from './exported-table.ts';

/** TypeScript types of the rows of published tables, as `sluice query --format json` gives them. */
export function toTypeScript(tables: readonly ExportedTable[]): string {
  const names = nameTypes(tables.map(({ table }) => table));
  const interfaces = tables.map((table, at) => writeInterface(names[at] ?? '', table));
  return [HEAD, ...interfaces].join('\n');
}

const HEAD = `// Rows of the published tables, as \`sluice query --format json\` gives them: whole numbers that a double cannot
// hold are text, and so are decimals and dates.
`;

function writeInterface(name: string, { table, columns, description }: ExportedTable): string {
  const members = columns.map(writeMember).join('\n');
  const about = describeNotes({ description, unit: undefined });
  const more = about === '' ? '' : ` ${writeComment(about)}`;
  return `/** A row of ${writeComment(table)}.${more} */\nexport interface ${name} {\n${members}\n}\n`;
}

function writeMember(column: ExportedColumn): string {
  const { name, type, field, required } = column;
  const from = field === undefined || field === name ? '' : `from ${field}, `;
  const comment = `  /** ${writeComment([describeNotes(column), `${from}${type}`].join(' ').trim())} */\n`;
  return `${comment}  ${writeName(name)}: ${typeOf(type)}${required || type === 'JSON' ? '' : ' | null'};`;
}

// What a field is called must not end the comment it stands in.
function writeComment(text: string): string {
  return text.replaceAll('*/', '*\\/').replaceAll(/\s+/g, ' ');
}

function writeName(name: string): string {
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name) ? name : JSON.stringify(name);
}

function typeOf(type: ExportedColumn['type']): string {
  switch (type) {
    case 'BOOLEAN':
      return 'boolean';
    case 'BIGINT':
    case 'HUGEINT':
      return 'number | string';
    case 'DOUBLE':
      return 'number';
    // Null is one of its values.
    case 'JSON':
      return 'unknown';
    default:
      return 'string';
  }
}

/** PascalCase of each table; a number tells two of one name apart. */
function nameTypes(tables: readonly string[]): readonly string[] {
  const taken = new Set<string>();
  return tables.map((table) => {
    const pascal = table.replace(/(?:^|_+)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    const plain = `${/^[A-Z]/.test(pascal) ? '' : 'Table'}${pascal.replaceAll('_', '')}Row`;
    let name = plain;
    for (let number = 2; taken.has(name); number += 1) name = `${plain}${number}`;
    taken.add(name);
    return name;
  });
}
