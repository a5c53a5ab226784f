import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { queryPublished } from '../../src/warehouse/query-published.ts';
import { makeDocsWorld, type DocsWorld } from './kit/docs-world.ts';

let world: DocsWorld;
beforeAll(async () => (world = await makeDocsWorld()));
afterAll(() => world.close());

it('what the docs show of the demo of accounts is what it leaves', async () => {
  const folder = path.join(world.folder, 'shown-accounts');
  const { exitCode, stdout } = await world.run(['demo', '--accounts', '2', '--dir', folder]);
  expect(exitCode).toBe(0);
  const [, acme = '', globex = ''] = /^prompts_analytics +([\d,]+) +([\d,]+)$/m.exec(stdout) ?? [];
  for (const [name, rows] of Object.entries({ acme, globex })) {
    const file = path.join(folder, 'accounts', `${name}.duckdb`);
    const { rows: found } = await queryPublished(
      file,
      'SELECT workspace, count(*) FROM prompts_analytics GROUP BY ALL',
    );
    expect(found.map(([whose, count]) => [whose, Number(count).toLocaleString('en-US')])).toEqual([
      [name, rows],
    ]);
  }
});
