import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sync } from '../../src/index.ts';
import type { ConfigInput } from '../../src/model/config.ts';
import { startSimulatorServer } from '../../src/simulator/server.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { queryCopy } from '../support/published.ts';
import { startNode, waitForEnd } from '../support/run-node.ts';
import { buildConfig, makeFolder, makeItems, noBuiltIns, unlimited } from '../support/sync-harness.ts';
import type { ChildPlan, KillPoint } from './sync-child.ts';

const ROWS = makeItems(150).map((item) => ({ ...item, ssn: `078-05-1120-${item.id}` }));

const points: readonly (readonly [string, KillPoint])[] = [
  ['before the file is rewritten', { at: 'sql', begins: 'COPY FROM DATABASE', nth: 1, when: 'before' }],
  ['once it was written', { at: 'sql', begins: 'COPY FROM DATABASE', nth: 1, when: 'after' }],
  [
    'before it takes the old one’s place',
    { at: 'file', call: 'rename', ends: '.rewrite', nth: 1, when: 'before' },
  ],
  ['once it took it', { at: 'file', call: 'rename', ends: '.rewrite', nth: 1, when: 'after' }],
  ['before it is published', { at: 'file', call: 'copyFile', ends: 'work.duckdb', nth: 1, when: 'before' }],
];

function findLeaks(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const file = join(folder, name);
    return statSync(file).isFile() && readFileSync(file).includes('078-05-1120');
  });
}

describe('a run that is killed while it forgets what config by now excludes', () => {
  it.each(points)('%s leaves the rest to the next one', async (_, kill) => {
    const endpoints = { items: { paginated: true, records: () => ROWS } };
    const server = await startSimulatorServer(
      createSimulator({ builtIns: false, rateLimit: unlimited, endpoints }),
    );
    try {
      const folder = makeFolder();
      const duckdbPath = join(folder, 'warehouse.duckdb');
      const configure = (columns: NonNullable<ConfigInput['streams']>[string]['columns']) => ({
        ...buildConfig(
          { duckdbPath, stateDir: join(folder, 'state'), ledgerDir: join(folder, 'quota') },
          {
            source: { baseUrl: server.baseUrl },
            streams: { ...noBuiltIns, items: { path: 'items', paginated: true, columns } },
          },
        ),
        retention: { archive: 0 as const },
      });
      await sync(configure({}));
      const masked = configure({ ssn: { exclude: true } });
      const plan: ChildPlan = { config: masked, kill };
      const file = join(import.meta.dirname, 'sync-child.ts');
      const end = await waitForEnd(startNode(file, [JSON.stringify(plan)]));
      expect(end.signal).toBe('SIGKILL');
      // Readers have the file of the run before, whole.
      expect((await queryCopy(duckdbPath, 'SELECT count(ssn) AS n FROM main.items')).rows).toEqual([
        { n: 150 },
      ]);
      expect(await sync(masked)).toMatchObject({ exitCode: 0 });
      expect((await queryCopy(duckdbPath, 'SELECT count(*) AS n FROM main.items')).rows).toEqual([
        { n: 150 },
      ]);
      expect(findLeaks(folder)).toEqual([]);
    } finally {
      await server.close();
    }
  });
});
