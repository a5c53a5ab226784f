import { describe, expect, it } from 'vitest';
import { buildLocate } from '../../src/load/locate-records.ts';

describe('where a record came', () => {
  // Neighbours share a record: the second page begins at position 9, and 9 is kept of the first.
  const pages = [
    { offset: 9, firstPosition: 10, rows: 9 },
    { offset: 0, firstPosition: 0, rows: 10 },
    { offset: 18, firstPosition: 19, rows: 0 },
    { offset: 18, firstPosition: 2 ** 40, rows: 10 },
  ];
  const locate = buildLocate(pages);

  it.each([
    [0, 0, 0],
    [9, 0, 9],
    [10, 9, 1],
    [18, 9, 9],
    [2 ** 40, 18, 0],
    [2 ** 40 + 9, 18, 9],
  ])('is told from its position %i', (position, pageOffset, rowIndex) => {
    expect(locate(position)).toEqual({ pageOffset, rowIndex });
  });

  it('is a page of its own where no page is known', () => {
    expect(locate(19)).toEqual({ pageOffset: 19, rowIndex: 0 });
    expect(buildLocate([])(5)).toEqual({ pageOffset: 5, rowIndex: 0 });
  });
});
