import { expect, it } from 'vitest';
import { compareFiles } from '../../src/commands/verify/compare-files.ts';
import { nameThere } from '../../src/publish/lakehouse/names.ts';
import type { HeldFacts, PublishedFacts } from '../../src/publish/publisher.ts';

const hold = (sum: string): HeldFacts => ({
  generation: 'g',
  checkpoints: [],
  tables: new Map([['main.items', { name: 'main.items', columns: 'id', rows: 2, sum }]]),
});
const work = { title: 'work file', place: '/s/work.duckdb', facts: hold('1') };

it('names a table that differs as it is called where it was published', () => {
  const publisher = { title: 'Postgres', place: 'postgres://db/shop?schema=analytics' };
  const facts = { ...hold('2'), comparedAs: 'Postgres' };
  const nameTable = (name: string) => nameThere('analytics', name);
  const tell = (published: PublishedFacts) => compareFiles(publisher, published, work).detail;
  expect(tell({ ...facts, nameTable })).toMatch(/^analytics\.items differs from/);
  expect(tell(facts)).toMatch(/^main\.items differs from/);
  expect(nameThere('analytics', '_sluice.meta')).toBe('_sluice_analytics.meta');
});
