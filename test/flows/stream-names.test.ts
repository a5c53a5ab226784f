import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createFlow, DAY_MS, makeItems, noBuiltIns, streamOf } from '../support/sync-harness.ts';

const folders = ['src/warehouse', 'src/stage', 'src/load', 'src/publish/lake'];

/** Tables of ours that live for the length of a load. */
const temporary = folders.flatMap((folder) => {
  const place = join(import.meta.dirname, '../..', folder);
  return readdirSync(place)
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => [...readFileSync(join(place, file), 'utf8').matchAll(/TEMP TABLE (\S+)/g)])
    .map(([, name = '']) => name);
});

describe('a stream may have any name', () => {
  it('since tables of ours have names that no stream can have', () => {
    expect(temporary.length).toBeGreaterThan(10);
    expect(temporary.filter((name) => !/^"~/.test(name))).toEqual([]);
  });

  it.each([
    { name: 'incoming', key: ['id'], deletes: 'soft', history: true },
    { name: 'written', key: 'auto', deletes: 'hard' },
    { name: 'matches', key: ['id'], deletes: 'hard' },
    { name: 'select', key: ['id'], deletes: 'keep' },
    { name: 'work', key: ['id'], deletes: 'keep' },
    { name: 'main', key: ['id'], deletes: 'keep' },
  ] as const)('such as $name', async ({ name, ...rules }) => {
    const records =
      rules.key === 'auto' ? makeItems(30).map(({ date }) => ({ date, same: 1 })) : makeItems(30);
    const flow = createFlow({
      simulator: {
        builtIns: false,
        endpoints: { [name]: { paginated: true, records: () => records } },
      },
      config: {
        streams: {
          ...noBuiltIns,
          [name]: { path: name, paginated: true, ...rules, key: rules.key === 'auto' ? 'auto' : ['id'] },
        },
      },
    });
    expect(streamOf(await flow.sync(), name)).toMatchObject({ verdict: 'verified', rows: { inserted: 30 } });
    await flow.clock.sleep(DAY_MS);
    flow.simulator.editRecords(name, (all) => all.slice(1));
    const again = await flow.sync({ fullRefresh: true });
    expect(again.exitCode).toBe(0);
    expect(streamOf(again, name)).toMatchObject({
      rows: { unchanged: 29, deleted: rules.deletes === 'keep' ? 0 : 1 },
    });
    const live = 'history' in rules ? ' WHERE _deleted_at IS NULL' : '';
    expect(await flow.query(`SELECT count(*) AS n FROM main."${name}"${live}`)).toEqual([
      { n: rules.deletes === 'keep' ? 30 : 29 },
    ]);
  });
});
