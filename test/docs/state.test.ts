import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { migrate } from '../../state/migrations.ts';
import { Database } from '../../src/warehouse/database.ts';
import { listCode, readSection, readText } from './markdown.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'sluice-state-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('docs/state.md', () => {
  it('has every table of _sluice with its columns, in order', async () => {
    const file = path.join(folder, 'work.duckdb');
    const database = await Database.open({ file, folders: [folder] });
    await database.transaction(() => migrate(database, file));
    const rows = await database.all(
      `SELECT table_name, column_name FROM duckdb_columns() WHERE schema_name = '_sluice' ORDER BY table_name, column_index`,
    );
    await database.release();
    const tables = Map.groupBy(rows, (row) => String(row['table_name']));
    const headings = readText('docs/state.md').match(/(?<=^### `_sluice\.)\w+/gm) ?? [];
    expect(headings.toSorted()).toEqual([...tables.keys()]);
    for (const [table, columns] of tables) {
      const names = columns.map((row) => String(row['column_name']));
      const listed = listCode(readSection('docs/state.md', `### \`_sluice.${table}\``));
      expect(listed.slice(0, names.length), table).toEqual(names);
    }
  });
});
