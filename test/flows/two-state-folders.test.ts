import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SyncError } from '../../src/model/errors.ts';
import { createFlow, DAY_MS, makeFolder, makeItems, noBuiltIns, streamOf } from '../support/sync-harness.ts';

/** Two projects that publish to one place, each with a stream and a state folder of its own. */
function createPair(destination?: { readonly parquet: string }) {
  const folder = makeFolder();
  const records = makeItems(30);
  const endpoint = { paginated: true, records: () => records } as const;
  const create = (stream: string, stateDir: string) =>
    createFlow({
      folder,
      stateDir: join(folder, stateDir),
      simulator: { builtIns: false, endpoints: { [stream]: endpoint } },
      config: {
        streams: { ...noBuiltIns, [stream]: { path: stream, paginated: true } },
        ...(destination && { destination: { parquet: join(folder, destination.parquet) } }),
      },
    });
  return { folder, one: create('one', 'state-1'), other: create('other', 'state-2') };
}

describe('two state folders with one destination', () => {
  it.each([undefined, { parquet: 'lake' }])(
    'end with 2 before a request, not with rows lost (%o)',
    async (to) => {
      const { one, other } = createPair(to);
      expect((await one.sync()).exitCode).toBe(0);
      // It begins with what is published, and goes on from there.
      expect((await other.sync()).exitCode).toBe(0);
      await one.clock.sleep(DAY_MS);
      await expect(one.sync()).rejects.toMatchObject({
        exitCode: 2,
        code: 'publish_refused',
        hint: expect.stringMatching(/move .*state-1 away/) as unknown,
      });
      expect(one.arrivals).toEqual([]);
      rmSync(one.stateDir, { recursive: true });
      expect((await one.sync()).exitCode).toBe(0);
    },
  );
});

describe('a lake of another state folder that has lost its lake.duckdb', () => {
  it('says what the state can be restored from, which is not the lake alone', async () => {
    const { folder, one, other } = createPair({ parquet: 'lake' });
    expect((await one.sync()).exitCode).toBe(0);
    expect((await other.sync()).exitCode).toBe(0);
    await one.clock.sleep(DAY_MS);
    const catalog = join(folder, 'lake', 'lake.duckdb');
    renameSync(catalog, join(folder, 'backup'));
    const error = await one.sync().catch((thrown: unknown) => thrown as SyncError);
    expect(error).toMatchObject({ exitCode: 2, code: 'publish_refused' });
    expect((error as SyncError).hint).toMatch(
      /put lake\.duckdb of .+ back from a backup and move .*state-1 away/,
    );
    // As it says.
    renameSync(join(folder, 'backup'), catalog);
    rmSync(one.stateDir, { recursive: true });
    expect((await one.sync()).exitCode).toBe(0);
  });
});

describe('a published file of the same state', () => {
  it('may be a copy of itself, or an older one', async () => {
    const { folder, one } = createPair();
    await one.sync();
    const backup = join(folder, 'backup');
    copyFileSync(one.duckdbPath, backup);
    await one.clock.sleep(DAY_MS);
    expect((await one.sync({ force: true })).exitCode).toBe(0);
    renameSync(backup, one.duckdbPath);
    await one.clock.sleep(DAY_MS);
    expect(streamOf(await one.sync({ force: true }), 'one')).toMatchObject({ status: 'complete' });
    expect(await one.query('SELECT count(*) AS n FROM _sluice.runs')).toEqual([{ n: 3 }]);
  });
});
