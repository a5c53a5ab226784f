import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { listCode, listTableRows, readSection, readText, root } from '../docs/markdown.ts';
import { MAX_TRIES, MAX_UNREADABLE_TRIES } from '../../src/http/client.ts';
import {
  CONNECT_DEADLINE_MS,
  HEADERS_DEADLINE_MS,
  IDLE_DEADLINE_MS,
  TOTAL_DEADLINE_MS,
} from '../../src/http/deadlines.ts';
import { LARGE_BODY_BYTES } from '../../src/http/large-bodies.ts';
import { MAX_PAGE_BYTES } from '../../src/http/undici-transport.ts';
import { MOST_LEVELS, MOST_VALUES } from '../../src/json/find-excess.ts';
import { MAX_DEPTH } from '../../src/json/page-records.ts';
import { quoteServerText } from '../../src/text/redact.ts';
import { MOST_RECORD_BYTES } from '../../src/read/answer-errors.ts';
import { MAX_DOCUMENT_BYTES } from '../../src/read/request-document.ts';
import { commandLineScenarios } from './scenarios/command-line.ts';
import { storageScenarios } from './scenarios/storage.ts';
import { wireScenarios } from './scenarios/wire.ts';

const PAGE = 'docs/reliability.md';
const scenarios = { ...wireScenarios, ...commandLineScenarios, ...storageScenarios };

const rows = listTableRows(readSection(PAGE, '## The morning after')).map(
  ([what = '', exitCode = '', code = '', says = '', , name = '']) => ({
    what,
    exitCode: Number(exitCode),
    code: listCode(code)[0],
    says,
    name: listCode(name)[0] ?? '',
  }),
);

describe('the morning after', () => {
  it('has a row for every scenario, once, and a scenario for every row', () => {
    expect(rows.map(({ name }) => name).toSorted()).toEqual(Object.keys(scenarios).toSorted());
  });

  it.each(rows)('is as it says: $what', async ({ exitCode, code, says, name }) => {
    const end = await scenarios[name]?.();
    expect(end).toMatchObject({ exitCode, code });
    expect(end?.message).toMatch(toPattern(says));
    // Whatever fails says what to do next.
    expect((end?.hint ?? '') === '').toBe(code === undefined);
  });

  it('has a row for every exit code, and none that nobody knows', () => {
    const summary = listTableRows(readSection(PAGE, '## By exit code')).flatMap(([codes = '']) =>
      codes.split(',').map(Number),
    );
    expect([...new Set(rows.map((row) => row.exitCode))].toSorted((a, b) => a - b)).toEqual(summary);
    expect(
      listTableRows(readSection('docs/errors.md', '## Exit codes')).flatMap(([codes = '']) =>
        codes.split(',').map(Number),
      ),
    ).toEqual(summary);
  });
});

describe('what is promised', () => {
  const promises = listTableRows(readSection(PAGE, '## What is promised'));

  it.each(promises)('has a test: %s', (_, proof = '') => {
    const [file = ''] = listCode(proof);
    const title = proof.split('`: ')[1];
    expect(existsSync(path.join(root, file))).toBe(true);
    if (title !== undefined) expect(readText(file)).toContain(`'${title}'`);
  });
});

it('tells the limits as they are', () => {
  const longest = quoteServerText('x'.repeat(10_000), []).length - '...'.length;
  expect(listTableRows(readSection(PAGE, '## Limits')).map(([, limit]) => limit)).toEqual([
    `${CONNECT_DEADLINE_MS / 1000} s`,
    `${HEADERS_DEADLINE_MS / 1000} s`,
    `${IDLE_DEADLINE_MS / 1000} s`,
    `${TOTAL_DEADLINE_MS / 1000} s`,
    '16 KB',
    `${MAX_PAGE_BYTES / 2 ** 20} MB`,
    `${MAX_DOCUMENT_BYTES / 2 ** 30} GB`,
    `${MOST_RECORD_BYTES / 2 ** 20} MB`,
    MOST_VALUES.toLocaleString('en-US'),
    String(MOST_LEVELS),
    String(MAX_DEPTH),
    String(MAX_TRIES),
    String(MAX_UNREADABLE_TRIES),
    '1',
    `${longest} characters`,
  ]);
  expect(LARGE_BODY_BYTES).toBe(4 * 2 ** 20);
});

/** The text of a cell as a pattern: `…` stands for anything. */
function toPattern(text: string): RegExp {
  const parts = text.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('[^]*')}$`);
}
