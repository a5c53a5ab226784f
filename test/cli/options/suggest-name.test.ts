import { expect, it } from 'vitest';
import { suggestName } from '../../../src/cli/options/suggest-name.ts';

const names = ['full-refresh', 'max-requests', 'max-wait', 'streams', 'strict'];

it.each([
  ['fullrefresh', 'full-refresh'],
  ['fullRefresh', 'full-refresh'],
  ['max_wait', 'max-wait'],
  ['stream', 'streams'],
  ['full', 'full-refresh'],
  ['zzz', undefined],
])('%s is nearest to %s', async (typed, nearest) => {
  await expect(suggestName(typed, names)).resolves.toBe(nearest);
});
