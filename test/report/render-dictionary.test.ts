import { describe, expect, it } from 'vitest';
import type { AccountDictionary, DictionaryData } from '../../src/model/dictionary.ts';
import { renderDictionary } from '../../src/report/render-dictionary.ts';
import { makeColumn, makeDictionary, makeTable } from './make-dictionary.ts';

const madeAt = '2026-11-20T14:07:00.000Z';

function render(...accounts: readonly AccountDictionary[]) {
  const data: DictionaryData = { madeAt, version: '9.9.9', accounts };
  return renderDictionary(data);
}

function one(account: string | undefined, dictionary: AccountDictionary['dictionary']): AccountDictionary {
  return { account, dictionary, error: undefined };
}

describe('the data dictionary', () => {
  it('shows columns with type, evidence, key, unit and description', () => {
    const { html, summary } = render(one(undefined, makeDictionary([makeTable()])));
    expect(summary).toBe('1 table with 3 columns, 1 of them with a description');
    expect(html).toMatch(/^<!doctype html>/);
    expect(html).toContain('<title>Data dictionary – Sluice</title>');
    for (const text of ['Share of answers', 'percent', 'all values were numbers', 'One row per', 'never'])
      expect(html).toContain(text);
    expect(html).not.toMatch(/<script|<link rel="stylesheet"|https?:/);
  });

  it('shows text of others as text', () => {
    const column = makeColumn({ description: '<img src=x onerror=alert(1)>', unit: '</b><script>' });
    const { html } = render(one(undefined, makeDictionary([makeTable({ columns: [column] })])));
    expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(html).not.toContain('<img');
    expect(html).not.toContain('<script>');
  });

  it('says which accounts have which columns, and what could not be read', () => {
    const more = makeTable({ columns: [makeColumn({}), makeColumn({ name: 'extra', field: 'extra' })] });
    const { html, summary } = render(
      one('acme', makeDictionary([makeTable({ columns: [makeColumn({})] })])),
      one('globex', makeDictionary([more])),
      {
        account: 'initech',
        dictionary: undefined,
        error: { code: 'config_invalid', message: 'no config of initech', hint: '' },
      } as AccountDictionary,
    );
    expect(summary).toBe('1 table with 2 columns, 2 of them with a description');
    expect(html).toContain('1 of 2: globex');
    expect(html).toContain('no config of initech');
    expect(html).toContain('the column <code>account</code>');
  });

  it('says that nothing is published yet', () => {
    const { html, summary } = render(
      one(undefined, { connector: 'analytics-read', file: undefined, tables: [] }),
    );
    expect(summary).toBe('nothing is published yet');
    expect(html).toContain('Nothing is published yet');
  });
});
