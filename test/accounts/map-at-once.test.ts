import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { mapAtOnce } from '../../src/accounts/map-at-once.ts';

it('keeps the order, and no more at work than allowed', async () => {
  let atWork = 0;
  let most = 0;
  const found = await mapAtOnce([3, 1, 2, undefined], 2, async (item) => {
    most = Math.max(most, ++atWork);
    await sleep((item ?? 0) * 3);
    atWork -= 1;
    return item;
  });
  expect(found).toEqual([3, 1, 2, undefined]);
  expect(most).toBe(2);
});

it('throws what fails', async () => {
  await expect(mapAtOnce([1], 4, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await mapAtOnce([], 4, () => Promise.resolve(1))).toEqual([]);
});
