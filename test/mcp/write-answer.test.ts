import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/model/errors.ts';
import type { QueryCell } from '../../src/model/reports.ts';
import {
  type Answer,
  answerError,
  answerResult,
  answerRows,
  escapeHidden,
  MOST_CHARACTERS,
} from '../../src/mcp/write-answer.ts';

interface Rows {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly rowCount: number;
  readonly notes?: readonly string[];
}

function textOf({ content }: Answer): string {
  return content.map(({ text }) => text).join('');
}

function answer(type: string, cells: readonly QueryCell[], limit = 100, leftOut: readonly string[] = []) {
  const rows = cells.map((cell) => [cell]);
  return answerRows({ columns: [{ name: 'a', type }], rows, leftOut }, limit);
}

function read(type: string, cells: readonly QueryCell[], limit?: number, leftOut?: readonly string[]): Rows {
  return JSON.parse(textOf(answer(type, cells, limit, leftOut))) as Rows;
}

describe('rows for a model', () => {
  it('are JSON with the types of the columns', () => {
    expect(read('INTEGER', [1, null])).toEqual({
      columns: [{ name: 'a', type: 'INTEGER' }],
      rows: [{ a: 1 }, { a: null }],
      rowCount: 2,
    });
    expect(read('INTEGER', [])).toMatchObject({ rows: [], rowCount: 0 });
  });

  it('keep integers exact: a number while it is safe, else text', () => {
    expect(textOf(answer('BIGINT', ['9007199254740991', '9007199254740993']))).toContain(
      '{"a":9007199254740991},\n{"a":"9007199254740993"}',
    );
    expect(textOf(answer('JSON', ['{"n":12345678901234567890123}']))).toContain(
      '{"a":{"n":12345678901234567890123}}',
    );
  });

  it('say that there are more, and show as many as were asked for', () => {
    const { rows, notes } = read('INTEGER', [1, 2, 3], 2);
    expect(rows).toEqual([{ a: 1 }, { a: 2 }]);
    expect(notes).toEqual(['There are more rows than the limit of 2.']);
  });

  it('fit into an answer, whole rows only', () => {
    const { rows, rowCount, notes } = read(
      'VARCHAR',
      Array.from({ length: 100 }, () => 'x'.repeat(3_900)),
    );
    expect(rowCount).toBe(rows.length);
    expect(rows.length).toBe(10);
    expect(notes).toEqual(['Only the first 10 rows fit into an answer: select fewer columns, or aggregate.']);
  });

  it('fit also where all characters are written as escapes', () => {
    const text = textOf(
      answer(
        'VARCHAR',
        Array.from({ length: 9 }, () => '\u200b'.repeat(4_000)),
      ),
    );
    expect(text.length).toBeLessThan(MOST_CHARACTERS + 500);
    expect((JSON.parse(text) as Rows).rowCount).toBe(1);
    expect(textOf(answerResult('\u200b'.repeat(30_000), '')).length).toBeLessThan(MOST_CHARACTERS + 500);
  });

  it('fit where columns are many, or have long names', () => {
    const many = Array.from({ length: 3_000 }, (_, at) => ({ name: `a_long_name_${at}`, type: 'BIGINT' }));
    const wide = textOf(answerRows({ columns: many, rows: [many.map(() => 1)], leftOut: [] }, 5));
    expect(wide.length).toBeLessThan(MOST_CHARACTERS + 500);
    const { columns, rows, notes } = JSON.parse(wide) as Rows;
    expect(rows).toEqual([]);
    expect(notes?.[0]).toBe(
      `Only the first ${columns.length} of 3,000 columns are listed: select fewer columns.`,
    );
    const long = [{ name: 'x'.repeat(90_000), type: 'INTEGER' }];
    expect(textOf(answerRows({ columns: long, rows: [[1]], leftOut: [] }, 5)).length).toBeLessThan(5_000);
  });

  it('have long values cut, and say so', () => {
    const { rows, notes } = read('VARCHAR', ['x'.repeat(10_000), 'y']);
    expect(rows[0]?.['a']).toBe(`${'x'.repeat(4_000)}… (10,000 characters)`);
    expect(rows[1]?.['a']).toBe('y');
    expect(notes).toEqual(['1 value of more than 4,000 characters was cut: use substr().']);
  });

  it('name accounts that have none', () => {
    expect(read('INTEGER', [1], 5, ['acme']).notes).toEqual([
      'Not published yet, so without rows here: acme.',
    ]);
  });

  it('cannot break out of their line or hide text', () => {
    const hostile = 'a\u001b[2J\nb\u202ec\u200bd\u{e0041}\ufeff"}]';
    const text = textOf(answer('VARCHAR', [hostile]));
    expect(text).not.toMatch(/[\u001b\u202e\u200b\ufeff]|\u{e0041}/u);
    expect((JSON.parse(text) as Rows).rows).toEqual([{ a: hostile }]);
  });
});

describe('hidden characters', () => {
  it('are written as escapes of the same value, and all others stay', () => {
    const value = 'Zürich 東京 🎉 \u{e0041}\u2066\u3164\u00ad';
    const text = escapeHidden(JSON.stringify(value));
    expect(text).toBe(String.raw`"Zürich 東京 🎉 \udb40\udc41\u2066\u3164\u00ad"`);
    expect(JSON.parse(text)).toBe(value);
  });
});

describe('results of commands', () => {
  it('are cut where they are too long, with what to do', () => {
    const text = textOf(answerResult({ text: 'x'.repeat(MOST_CHARACTERS) }, 'Ask for less.'));
    expect(text.length).toBeLessThan(MOST_CHARACTERS + 100);
    expect(text).toMatch(/… cut: this is the start of 40,011 characters. Ask for less.$/);
    expect(textOf(answerResult({ a: undefined, b: 1 }, ''))).toBe('{"a":null,"b":1}');
  });
});

describe('errors', () => {
  it('are results with code, message and hint', () => {
    const error = new ConfigError('no such table', { code: 'query_failed', hint: 'Tables: a' });
    expect(answerError(error)).toEqual({
      content: [
        {
          type: 'text',
          text: '{"error":{"code":"query_failed","message":"no such table","hint":"Tables: a"}}',
        },
      ],
      isError: true,
    });
  });
});
