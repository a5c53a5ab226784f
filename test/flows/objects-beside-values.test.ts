import { expect, it } from 'vitest';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { createItemsFlow, streamOf } from '../support/sync-harness.ts';

const options = { stream: { key: ['id'], cursor: false } } as const;

it.each([
  ['a list', [1]],
  ['a text', 'x'],
  ['a number', 0.5],
])('keeps the members of objects where they are once %s comes in their field', async (_, other) => {
  const object = { id: 1, o: { a: 1 } };
  const flow = createItemsFlow([object], options);
  const sync = async () => {
    const report = await flow.sync({ force: true, fullRefresh: true });
    expect(report.exitCode).toBe(0);
    return streamOf(report).rows;
  };
  await sync();
  flow.simulator.editRecords('items', () => [object, { id: 2, o: other }]);
  expect(await sync()).toMatchObject({ inserted: 1, updated: 0, unchanged: 1 });
  const before = await flow.query('SELECT * FROM items ORDER BY id');
  expect(await sync()).toMatchObject({ inserted: 0, updated: 0, unchanged: 2 });
  expect(await flow.query('SELECT id, o__a FROM items ORDER BY id')).toEqual([{ id: 1, o__a: 1 }, { id: 2 }]);
  expect(await flow.query('SELECT * FROM items ORDER BY id')).toEqual(before);
  expect((await flow.rebuild()).exitCode).toBe(0);
  expect(await sync()).toMatchObject({ updated: 0, unchanged: 2 });
  expect((await verifyState(flow.settings(), { clock: flow.clock })).exitCode).toBe(0);
});
