import { describe, expect, it } from 'vitest';
import { readWholeNumbers } from '../../src/render/query-cells.ts';
import { formatQueryResult } from '../../src/render/query-formats.ts';
import type { QueryResult } from '../../src/model/reports.ts';

const hostile: QueryResult = {
  columns: [
    { name: 'id', type: 'BIGINT' },
    { name: 'text', type: 'VARCHAR' },
    { name: 'text', type: 'VARCHAR' },
  ],
  rows: [
    ['9007199254740993', 'a "quoted", text', null],
    [1, '', 'two\r\nlines | a pipe'],
    [2, '\u001b[31mred\u009b', '日本 🎉'],
  ],
};

describe('csv', () => {
  it('is RFC 4180, and tells NULL from an empty text', () => {
    expect(formatQueryResult(hostile, 'csv', undefined)).toBe(
      'id,text,text\r\n' +
        '9007199254740993,"a ""quoted"", text",\r\n' +
        '1,"","two\r\nlines | a pipe"\r\n' +
        '2,\u001b[31mred\u009b,日本 🎉\r\n',
    );
  });
  it('cannot steer a terminal', () => {
    expect(formatQueryResult(hostile, 'csv', 80)).toContain(String.raw`\x1b[31mred\x9b`);
  });
});

describe('json and ndjson', () => {
  it('keep every column, also two of one name', () => {
    const rows = JSON.parse(formatQueryResult(hostile, 'json', undefined)) as unknown[];
    expect(rows[0]).toEqual({ id: '9007199254740993', text: 'a "quoted", text', text_2: null });
    const lines = formatQueryResult(hostile, 'ndjson', undefined).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(rows);
  });
  it('hold JSON as JSON, digit by digit, on one line', () => {
    const nested: QueryResult = {
      columns: ['JSON', 'BIGINT[]', 'STRUCT(a INTEGER)', 'VARCHAR', 'JSON'].map((type, i) => ({
        name: `c${i}`,
        type,
      })),
      rows: [
        ['{"a":[9007199254740993,\n 1.10],"a":"x\u009b"}', '["1","2"]', '{"a":1}', '[1]', null],
        ['no JSON', '', null, 'x', '"text"'],
      ],
    };
    const [first, second] = formatQueryResult(nested, 'ndjson', undefined).trimEnd().split('\n');
    expect(first).toBe(
      String.raw`{"c0":{"a":[9007199254740993,  1.10],"a":"x\u009b"},"c1":["1","2"],"c2":{"a":1},"c3":"[1]","c4":null}`,
    );
    expect(JSON.parse(second ?? '')).toEqual({ c0: 'no JSON', c1: '', c2: null, c3: 'x', c4: 'text' });
    const all = JSON.parse(formatQueryResult(nested, 'json', undefined)) as unknown[];
    expect(all[1]).toEqual(JSON.parse(second ?? ''));
  });
  it('hold no control character', () => {
    expect(formatQueryResult(hostile, 'ndjson', undefined).replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });
  it('take any column name', () => {
    const result = { columns: [{ name: '__proto__', type: 'VARCHAR' }], rows: [['x']] };
    expect(formatQueryResult(result, 'ndjson', undefined)).toBe('{"__proto__":"x"}\n');
  });
  it('are whole without rows', () => {
    const empty = { ...hostile, rows: [] };
    expect(formatQueryResult(empty, 'json', undefined)).toBe('[]\n');
    expect(formatQueryResult(empty, 'ndjson', undefined)).toBe('');
  });
});

describe('markdown', () => {
  it('escapes what would end a cell', () => {
    expect(formatQueryResult(hostile, 'markdown', undefined).split('\n').slice(0, 4)).toEqual([
      '| id | text | text |',
      '| ---: | --- | --- |',
      '| 9007199254740993 | a "quoted", text | NULL |',
      String.raw`| 1 |  | two\\r\\nlines \| a pipe |`,
    ]);
  });

  it.each([
    ['![](https://evil.example/seen.png)', String.raw`!\[](https://evil.example/seen.png)`],
    ['<img src=x>', String.raw`\<img src=x>`],
    ['*much* and `code`', String.raw`\*much\* and \`code\``],
    ['_run_id', '_run_id'],
  ])('shows %j as it is', (text, written) => {
    const result = { columns: [{ name: 'text', type: 'VARCHAR' }], rows: [[text]] };
    expect(formatQueryResult(result, 'markdown', undefined)).toBe(`| text |\n| --- |\n| ${written} |\n`);
  });
});

describe('table', () => {
  it('shows NULL, wide characters and line breaks in line', () => {
    expect(formatQueryResult(hostile, 'table', undefined)).toBe(
      [
        '              id  text              text',
        '9007199254740993  a "quoted", text  NULL',
        String.raw`               1                    two\r\nlines | a pipe`,
        String.raw`               2  \x1b[31mred\x9b   日本 🎉`,
        '',
      ].join('\n'),
    );
  });

  it('is cut to the width of a terminal, and never elsewhere', () => {
    const long = { columns: [{ name: 'a', type: 'VARCHAR' }], rows: [['x'.repeat(200)]] };
    expect(formatQueryResult(long, 'table', 40)).toBe(`a\n${'x'.repeat(39)}…\n`);
    expect(formatQueryResult(long, 'table', undefined)).toContain('x'.repeat(200));
  });

  it('names the columns a terminal has no room for', () => {
    const names = Array.from({ length: 20 }, (_, i) => `column_number_${i}`);
    const wide = { columns: names.map((name) => ({ name, type: 'VARCHAR' })), rows: [names] };
    const lines = formatQueryResult(wide, 'table', 60).trimEnd().split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60);
    expect(lines.at(-1)).toMatch(/^and 16 more columns: column_number_4, /);
  });
});

describe('whole numbers that came as text', () => {
  it('become numbers as far as these are exact', () => {
    const result = {
      columns: [
        { name: 'a', type: 'BIGINT' },
        { name: 'b', type: 'VARCHAR' },
        { name: 'c', type: 'DECIMAL(10,2)' },
      ],
      rows: [
        ['4', '4', '4.00'],
        ['9007199254740993', null, null],
      ],
    };
    expect(readWholeNumbers(result).rows).toEqual([
      [4, '4', '4.00'],
      ['9007199254740993', null, null],
    ]);
  });
});
