import { expect, it } from 'vitest';
import { hintAfterRequests } from '../../src/text/hint-after-requests.ts';

it.each([
  ['Give it a key. Nothing was requested, and nothing was written.', 'Give it a key. Nothing was written.'],
  ['Fix the folder. Nothing was requested.', 'Fix the folder.'],
  [
    'Let it finish. No request was spent. One destination needs one.',
    'Let it finish. One destination needs one.',
  ],
  ['No table was changed.', 'No table was changed.'],
])('a hint does not say that nothing was requested where something was: %s', (hint, rest) => {
  expect(hintAfterRequests(hint, 4)).toBe(rest);
  expect(hintAfterRequests(hint, 0)).toBe(hint);
});
