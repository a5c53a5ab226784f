import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { resolveOfflineSettings, resolveSettings } from '../../src/config/resolve-settings.ts';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'sluice-rules-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const KEY = 'a key of these tests';

/** Settings of a config with these lines under `prompts_analytics`. */
function resolve(
  lines: readonly string[],
  given: { readonly key?: string; readonly offline?: boolean; readonly hashKey?: string } = {},
) {
  const { key = KEY, offline = false, hashKey = '${SLUICE_HASH_KEY}' } = given;
  const file = join(folder, 'sluice.yaml');
  const text = [
    'source: { connector: analytics-read, baseUrl: "https://a.test/v1", apiKey: "${KEY}" }',
    'destination: { duckdb: ./w.duckdb }',
    ...(hashKey === '' ? [] : [`defaults: { hashKey: "${hashKey}" }`]),
    'streams:',
    '  prompts_analytics:',
    ...lines.map((line) => `    ${line}`),
  ].join('\n');
  writeFileSync(file, text);
  const env = { KEY: 'sk-0123456789', HOME: folder, ...(key === '' ? {} : { SLUICE_HASH_KEY: key }) };
  const loaded = loadConfig({ path: file, env, secrets: offline ? 'optional' : 'required' });
  const options = { loaded, connectors, env, nowMs: 0 };
  return offline ? resolveOfflineSettings(options) : resolveSettings(options);
}

const fingerprintOf = (settings: ReturnType<typeof resolve>, name = 'prompts_analytics') =>
  settings.streams.find((stream) => stream.name === name)?.fingerprint;

const hashed = ['columns: { email: { hash: true } }'];

describe('columns', () => {
  it.each([
    [
      ['key: [promptId, date]', 'columns: { date: { exclude: true } }'],
      /columns.date.exclude: excludes a field of the key/,
    ],
    [['cursor: { field: date }', 'columns: { date: { exclude: true } }'], /excludes the field of the cursor/],
    [['cursor: { field: date }', 'columns: { date: { hash: true } }'], /a hash is not a date/],
    [['columns: { date: { hash: true, exclude: true } }'], /must have one of type, exclude and hash/],
    [['columns: { date: { hash: false } }'], /must be true, or left out/],
  ])('%j is refused', (lines, problem) => {
    expect(() => resolve(lines)).toThrow(problem);
  });

  it('lets a field of the key be hashed', () => {
    const settings = resolve(['key: [promptId, date]', 'columns: { promptId: { hash: true } }']);
    expect(settings.streams[1]?.columns).toEqual({ promptId: { kind: 'hash' } });
  });
});

describe('the key of hashes', () => {
  it('is needed where a column is hashed', () => {
    expect(() => resolve(hashed, { hashKey: '' })).toThrow(/columns.email.hash: needs defaults.hashKey/);
    expect(resolve(['columns: { email: { exclude: true } }'], { hashKey: '' }).hashKey).toBeUndefined();
  });

  it.each([
    ['short', /at least 16 characters/],
    ['$A_VARIABLE_OF_THE_SHELL', /is the name of a variable, not its value/],
  ])('is not %s', (key, problem) => {
    expect(() => resolve(hashed, { key })).toThrow(problem);
    expect(() => resolve(hashed, { key })).not.toThrow(key);
  });

  it('may be unset for commands that send no request, which then say what follows', () => {
    expect(() => resolve(hashed, { key: '' })).toThrow(/SLUICE_HASH_KEY is not set/);
    const settings = resolve(hashed, { key: '', offline: true });
    expect(settings.hashKey).toBeUndefined();
    expect(settings.warnings).toEqual([
      'defaults.hashKey is not set: streams with hashed columns look as if their config had changed',
    ]);
    expect(resolve(['enabled: true'], { key: '', offline: true }).warnings).toEqual([]);
  });

  it('written out in the file is a warning that names its own variable', () => {
    expect(resolve(hashed, { hashKey: KEY }).warnings).toEqual([
      expect.stringMatching(/^defaults.hashKey is written in .*; write \$\{SLUICE_HASH_KEY\} there/),
    ]);
  });

  it('changes the fingerprint of streams that hash, and of no other', () => {
    const one = resolve(hashed);
    const other = resolve(hashed, { key: 'another key of these tests' });
    expect(fingerprintOf(other)).not.toBe(fingerprintOf(one));
    expect(fingerprintOf(other, 'visibility_mentions')).toBe(fingerprintOf(one, 'visibility_mentions'));
    expect(fingerprintOf(resolve(hashed))).toBe(fingerprintOf(one));
    expect(fingerprintOf(resolve(['columns: { email: { exclude: true } }']))).not.toBe(fingerprintOf(one));
  });
});
