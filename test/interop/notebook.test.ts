import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readNotebook } from './notebook.ts';

const root = resolve(import.meta.dirname, '../..');
const { cells, metadata } = readNotebook(join(root, 'notebooks/quickstart.ipynb'));
const code = cells.filter(({ cell_type: type }) => type === 'code');

describe('notebooks/quickstart.ipynb', () => {
  it('is stored without what a run of it left behind', () => {
    expect(code.length).toBeGreaterThan(4);
    expect(code.map(({ outputs, execution_count: count }) => [outputs, count])).toEqual(
      code.map(() => [[], null]),
    );
    expect(metadata).toEqual({ kernelspec: { name: 'python3' } });
  });

  it('opens the file read-only, every time, and closes it', () => {
    const opening = code.flatMap(({ source }) =>
      [...source.matchAll(/^.*duckdb\.connect\(.*$/gm)].map(([line]) => line),
    );
    expect(opening.length).toBeGreaterThan(2);
    expect(opening.filter((line) => !/^\s*with .*read_only=True\) as con:$/.test(line))).toEqual([]);
  });

  it('needs no package but duckdb', () => {
    const imports = code.flatMap(({ source }) =>
      [...source.matchAll(/^(?:import|from) (\w+)/gm)].map(([, name]) => name),
    );
    expect([...new Set(imports)].toSorted()).toEqual(['duckdb', 'os', 'pathlib', 'time']);
  });
});
