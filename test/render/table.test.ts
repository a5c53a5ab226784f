import { describe, expect, it } from 'vitest';
import { drawFittingTable } from '../../src/render/fitting-table.ts';
import { drawTable, drawTableWithin, measureBlock } from '../../src/render/table.ts';

const columns = [{ title: 'N', align: 'right' as const }, { title: 'TEXT' }];

describe('a long table', () => {
  it('is drawn whole, however long it is', { timeout: 120_000 }, () => {
    // More rows than a call may have arguments.
    const rows = Array.from({ length: 130_000 }, (_, i) => [String(i)]);
    const text = drawTable([{ title: 'N', align: 'right' }], rows);
    const lines = text.split('\n');
    expect(lines).toHaveLength(130_001);
    expect([lines[0], lines[1], lines.at(-1)]).toEqual(['     N', '     0', '129999']);
    expect(measureBlock(text)).toBe(6);
  });

  it('has the same columns from its first row to its last', () => {
    const rows = Array.from({ length: 1_000 }, (_, i) => [String(i), i === 900 ? 'a long text' : 'x']);
    const lines = drawTable(columns, rows).split('\n');
    expect(lines).toHaveLength(1_001);
    expect(lines.slice(1).every((line) => /^ *\d+ {2}(x|a long text)$/.test(line))).toBe(true);
    expect(new Set(lines.map((line) => line.search(/ {2}\S+/))).size).toBeLessThanOrEqual(4);
    expect(lines.every((line) => line.charAt(3) === ' ' && line.charAt(5) !== ' ')).toBe(true);
    expect(drawTableWithin(columns, rows, 10).split('\n')[901]).toBe('900  a lo…');
  });
});

describe('a table that has to fit', () => {
  const wide = [{ title: 'NAME' }, { title: 'STATE' }, { title: 'KEY', dropAt: 1 }];
  const rows = [
    ['visibility_mentions', 'fresh', 'date, topic_id'],
    ['short', 'stale', '-'],
  ];

  it('loses the column that is least useful, and no part of a name', () => {
    expect(drawFittingTable(wide, rows, 30)).toBe(
      'NAME                 STATE\nvisibility_mentions  fresh\nshort                stale',
    );
    expect(drawFittingTable(wide, rows, undefined)).toContain('KEY');
  });

  it('becomes a list with every column where even that is too wide', () => {
    expect(drawFittingTable(wide, rows, 20)).toBe(
      'visibility_mentions\n  state fresh; key\n  date, topic_id\nshort\n  state stale',
    );
  });
});
