import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { globOf, queryFiles } from '../support/read-lake.ts';
import { createItemsFlow, makeItems } from '../support/sync-harness.ts';

const stream = { key: ['id'], cursor: { field: 'date' } };
const createLakeFlow = (parquet: string) =>
  createItemsFlow(makeItems(40, { perDay: 10 }), { stream, config: { destination: { parquet } } });

describe('a lake in a folder that readers take for a column', () => {
  it('is published, read by readers with that column, and restored', async () => {
    const flow = createLakeFlow('./client=acme/lake');
    const lake = join(flow.folder, 'client=acme', 'lake');
    expect((await flow.sync()).error).toBeUndefined();
    const counted = `SELECT count(*)::INTEGER AS n, any_value(client) AS client FROM ${globOf(lake)}`;
    expect(await queryFiles(counted)).toEqual([{ n: 40, client: 'acme' }]);
    rmSync(flow.stateDir, { recursive: true });
    const restored = await flow.sync({ force: true });
    expect(restored).toMatchObject({
      exitCode: 0,
      streams: [{ rows: { inserted: 0, updated: 0, unchanged: 40 } }],
    });
    expect(await queryFiles(counted)).toEqual([{ n: 40, client: 'acme' }]);
  });

  it('is published where each row has its value, until one has another', async () => {
    let others = 0;
    const flow = createItemsFlow(
      () => [...makeItems(12)].map((item, at) => ({ ...item, client: at < others ? 'globex' : 'acme' })),
      { stream, config: { destination: { parquet: './client=acme/lake' } } },
    );
    expect(await flow.sync()).toMatchObject({ exitCode: 0 });
    const lake = join(flow.folder, 'client=acme', 'lake');
    const counted = `SELECT count(*)::INTEGER AS n, any_value(client) AS client FROM ${globOf(lake)}`;
    expect(await queryFiles(counted)).toEqual([{ n: 12, client: 'acme' }]);
    rmSync(flow.stateDir, { recursive: true });
    expect(await flow.sync({ force: true })).toMatchObject({
      exitCode: 0,
      streams: [{ rows: { inserted: 0, updated: 0, unchanged: 12 } }],
    });
    others = 1;
    flow.simulator.advanceDay();
    const refused = await flow.sync({ force: true, fullRefresh: true });
    expect(refused).toMatchObject({ exitCode: 2, error: { code: 'publish_refused' } });
    expect(await queryFiles(counted)).toEqual([{ n: 12, client: 'acme' }]);
  });

  it.each(['id=7', 'DATE=2026-01-01'])(
    'is refused where %s stands for a column of a table',
    async (folder) => {
      const flow = createLakeFlow(`./${folder}/lake`);
      const report = await flow.sync();
      expect(report).toMatchObject({ exitCode: 2, error: { code: 'publish_refused' } });
      expect(report.error?.message).toContain(`is in a folder ${folder}: readers would take its value`);
      expect(report.error?.hint).toContain(`client= in place of ${folder.split('=')[0] ?? ''}=`);
      // Another sync would be refused again.
      const { items } = await verifyState(flow.settings());
      const lake = items.find(({ name }) => name === 'lake');
      expect(lake).toMatchObject({ status: 'failed' });
      expect(lake?.fix).toContain(`client= in place of ${folder.split('=')[0] ?? ''}=`);
      expect(lake?.fix).not.toContain('sluice sync publishes it');
    },
  );

  it('is not restored from there either', async () => {
    const flow = createLakeFlow('./id=7/lake');
    const elsewhere = createLakeFlow('./lake');
    await elsewhere.sync();
    const lake = join(flow.folder, 'id=7', 'lake');
    mkdirSync(dirname(lake), { recursive: true });
    renameSync(join(elsewhere.folder, 'lake'), lake);
    await expect(flow.sync()).rejects.toMatchObject({ exitCode: 2, code: 'publish_refused' });
  });
});
