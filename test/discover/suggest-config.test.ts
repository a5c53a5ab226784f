import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { suggestConfig } from '../../src/discover/suggest-config.ts';
import type { DiscoveredStream } from '../../src/model/discover-report.ts';
import { makeStream } from '../support/fixtures.ts';

function suggest(fields: readonly string[], field: string) {
  const found = {
    keys: [{ fields, distinct: 2, rows: 2, holds: true }],
    params: [{ param: 'startDate', verdict: 'honoured', evidence: [], field }],
  } as unknown as DiscoveredStream;
  const stream = makeStream({
    name: 'items',
    key: { kind: 'auto' },
    cursor: { kind: 'auto', param: 'startDate' },
  });
  return suggestConfig([{ stream, found, hasContract: true }]);
}

it.each([
  ['id'],
  ['meta.id'],
  ['odd: name'],
  ['true'],
  ['no'],
  ['#'],
  ["it's"],
  ['"'],
  ['日本'],
  ['- x'],
  [''],
  ['1e3'],
  ['a\nb'],
])('writes YAML that means the field %j', (name) => {
  expect(parse(suggest([name, 'date'], name) ?? '')).toEqual({
    streams: {
      items: { key: [name, 'date'], cursor: { field: name, param: 'startDate' }, contract: 'freeze' },
    },
  });
});

it('says nothing where there is nothing to add', () => {
  expect(suggestConfig([])).toBeUndefined();
});
