import { expect, it } from 'vitest';
import { hintOfStream } from '../../src/text/what-is-safe.ts';

const HINT = 'Make a new key. No table was changed. Run again.';

it.each([
  [{ slice: '', wasCommitted: true }, 'Make a new key. Its table is unchanged. Run again.'],
  [
    { slice: 'entity=a', wasCommitted: true },
    'Make a new key. The rows of this slice are unchanged. Run again.',
  ],
  [{ slice: '', wasCommitted: false }, 'Make a new key. Run again.'],
])('says only of a stream what is true of it: %j', (held, hint) => {
  expect(hintOfStream(HINT, held)).toBe(hint);
});

it.each(['No table was changed.', 'Run again. No table was changed.', 'No table was changed. Run again.'])(
  'leaves no gap where a stream has no table: %s',
  (hint) => {
    expect(hintOfStream(hint, { slice: '', wasCommitted: false })).toBe(
      hint.includes('Run again.') ? 'Run again.' : '',
    );
  },
);
