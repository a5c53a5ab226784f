import { describe, expect, it } from 'vitest';
import { mayFollow, PageSpan } from '../../src/read/page-span.ts';

const NOON_MS = Date.parse('2026-03-10T12:00:00Z');
const HOUR_MS = 3_600_000;

describe('pages that were read hours apart', () => {
  it.each([
    ['near by both clocks', [0, 0], [5, 5], false],
    ['far by both clocks', [0, 0], [7, 7], true],
    ['far by the clock here, near by the server’s, which may have been set', [0, 0], [20, 1], true],
    ['near by a clock here that was set, far by the server’s', [0, 0], [1, 20], true],
    ['far by the only clock that saw both', [0, undefined], [20, 20], true],
    ['far where a server’s date stands still', [0, 0], [20, 0], true],
  ] as const)('are %s', (_, first, second, isApart) => {
    const at = ([local, server]: readonly [number, number | undefined]) => ({
      readAtMs: NOON_MS + local * HOUR_MS,
      serverDateMs: server === undefined ? undefined : NOON_MS + server * HOUR_MS,
    });
    expect(mayFollow(at(first), at(second))).toBe(!isApart);
    expect(mayFollow(at(second), at(first))).toBe(!isApart);
  });

  it('are judged by every page, also where one in between had no date', () => {
    const span = new PageSpan();
    span.add({ readAtMs: NOON_MS });
    span.add({ readAtMs: NOON_MS + 20 * HOUR_MS, serverDateMs: NOON_MS + 20 * HOUR_MS });
    span.add({ readAtMs: NOON_MS + 21 * HOUR_MS, serverDateMs: NOON_MS + 21 * HOUR_MS });
    expect(span.isApart).toBe(true);
  });
});
