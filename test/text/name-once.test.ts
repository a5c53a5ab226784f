import { describe, expect, it } from 'vitest';
import { describeEnd, withName, withoutFirstOffset, withoutName } from '../../src/text/name-once.ts';

describe("a stream's name", () => {
  it.each([
    ['answered 500', 'ep failed: answered 500', 'ep: answered 500', 'answered 500'],
    ['ep: answered 500', 'ep failed: answered 500', 'ep: answered 500', 'answered 500'],
    ['ep, offset 0: x', 'ep failed at offset 0: x', 'ep, offset 0: x', 'offset 0: x'],
    [
      'ep at offset 9 (/ep): x',
      'ep failed at offset 9 (/ep): x',
      'ep at offset 9 (/ep): x',
      'at offset 9 (/ep): x',
    ],
    [
      'ep (/ep, status 200): x',
      'ep failed (/ep, status 200): x',
      'ep (/ep, status 200): x',
      'x (/ep, status 200)',
    ],
    ['ep has no rows', 'failed: ep has no rows', 'ep has no rows', 'ep has no rows'],
    ['failed twice', 'ep failed twice', 'ep: failed twice', 'failed twice'],
    ['epic: x', 'ep failed: epic: x', 'ep: epic: x', 'epic: x'],
  ])('stands once with %j', (message, failed, logged, bare) => {
    expect(describeEnd('ep', 'failed', message)).toBe(failed);
    expect(withName(message, 'ep')).toBe(logged);
    expect(withoutName(message, 'ep')).toBe(bare);
  });

  it.each([
    ['at offset 0 (/ep, status 200): x', 'x (/ep, status 200)'],
    ['offset 0: x', 'x'],
    ['at offset 30 (/ep): x', 'at offset 30 (/ep): x'],
    ['(/ep): x\nand more', 'x (/ep)\nand more'],
  ])('leaves the first offset out of %j', (message, bare) => {
    expect(withoutFirstOffset(message)).toBe(bare);
  });
});
