import { describe, expect, it } from 'vitest';

import { rawJson } from '../../src/simulator/raw-json.ts';
import { delay, errorStatus, insertRows } from '../../src/simulator/fault-effects.ts';
import { when } from '../../src/simulator/faults.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import type { Simulator } from '../../src/simulator/simulator.ts';
import type { SimulatorOptions } from '../../src/simulator/simulator-options.ts';
import { ask, NOON_MS, numbered } from './ask.ts';
import type { Asked, Row } from './ask.ts';

const PATHS = [
  'visibility/mentions',
  'prompts/analytics',
  'commerce/category-products',
  'commerce/top-products',
] as const;

const accounts = [
  { name: 'acme', key: 'key-of-acme' },
  { name: 'globex', key: 'key-of-globex' },
];

function create(options: SimulatorOptions = {}): Simulator {
  return createSimulator({ accounts, ...options });
}

function askAs(simulator: Simulator, key: string, path: string, atMs?: number): Asked {
  return ask(simulator, path, { headers: { 'x-api-key': key }, ...(atMs !== undefined && { atMs }) });
}

function readAll(simulator: Simulator, name: string, path: string): readonly Row[] {
  const rows: Row[] = [];
  for (;;) {
    const page = askAs(simulator, `key-of-${name}`, `${path}?limit=100&offset=${rows.length}`);
    rows.push(...page.data);
    if (page.pagination?.hasMore !== true) return rows;
  }
}

function withoutMark(rows: readonly Row[]): readonly Row[] {
  return rows.map(({ workspace: _, ...row }) => row);
}

describe('accounts of the simulator', () => {
  it.each(PATHS)('see their own records only, which say so: %s', (path) => {
    const simulator = create();
    for (const { name } of accounts) {
      const rows = readAll(simulator, name, path);
      expect(rows.length).toBe(simulator.countRows(name)[path]);
      expect(new Set(rows.map(({ workspace }) => workspace))).toEqual(new Set([name]));
    }
  });

  it.each(PATHS)('have values that differ, and the same fields: %s', (path) => {
    const simulator = create();
    const [acme, globex] = accounts.map(({ name }) => withoutMark(readAll(simulator, name, path)));
    expect(acme?.[0]).not.toEqual(globex?.[0]);
    expect(Object.keys(acme?.[0] ?? {})).toEqual(Object.keys(globex?.[0] ?? {}));
  });

  it('have as many records as their names and the seed give them, never more than usual', () => {
    const many = Array.from({ length: 40 }, (_, i) => ({ name: `client-${i}`, key: `k${i}` }));
    const simulator = createSimulator({ accounts: many });
    const counts = many.map(({ name }) => simulator.countRows(name));
    expect(new Set(counts.map((rows) => JSON.stringify(rows))).size).toBe(many.length);
    const usual = createSimulator().countRows();
    for (const path of PATHS) {
      const most = usual[path] ?? 0;
      expect(Math.max(...counts.map((rows) => rows[path] ?? 0))).toBeLessThanOrEqual(most);
      expect(Math.min(...counts.map((rows) => rows[path] ?? 0))).toBeGreaterThanOrEqual(most / 4);
      expect(simulator.countRows()[path]).toBe(counts.reduce((sum, rows) => sum + (rows[path] ?? 0), 0));
    }
    expect(createSimulator({ accounts: many.slice(7, 8) }).countRows()).toEqual(counts[7]);
    expect(createSimulator({ accounts: many.slice(7, 8), seed: 2 }).countRows()).not.toEqual(counts[7]);
  });

  it('move on with the day, together', () => {
    const simulator = create();
    const before = simulator.countRows('acme')['prompts/analytics'] ?? 0;
    simulator.advanceDay();
    expect(simulator.countRows('acme')['prompts/analytics']).toBe(before + before / 30);
    expect(readAll(simulator, 'globex', 'prompts/analytics')[0]).toMatchObject({
      workspace: 'globex',
      date: '2026-02-01',
    });
  });

  it('have the only keys that work', () => {
    const simulator = create();
    for (const key of ['demo-key-0123456789', 'key-of-initech', 'acme'])
      expect(askAs(simulator, key, 'prompts/analytics').error?.code).toBe('UNAUTHORIZED');
    expect(ask(simulator, 'prompts/analytics', { headers: {} }).status).toBe(401);
  });

  it('may be revoked from the start, or later, alone', () => {
    const simulator = createSimulator({
      accounts: [
        { name: 'acme', key: 'key-of-acme' },
        { name: 'globex', key: 'key-of-globex', revoked: true },
      ],
    });
    const refused = askAs(simulator, 'key-of-globex', 'prompts/analytics');
    expect(refused.status).toBe(401);
    expect(refused.error?.message).toContain('revoked');
    expect(askAs(simulator, 'key-of-acme', 'prompts/analytics').status).toBe(200);
    simulator.setKeyState('key-of-globex', 'active');
    simulator.setKeyState('key-of-acme', 'revoked');
    expect(askAs(simulator, 'key-of-globex', 'prompts/analytics').data[0]).toMatchObject({
      workspace: 'globex',
    });
    expect(askAs(simulator, 'key-of-acme', 'prompts/analytics').status).toBe(401);
  });

  it('have a window and a burst limit each', () => {
    const simulator = create({ rateLimit: { requestsPerHour: 3, burstPerSecond: 2 } });
    const path = 'commerce/top-products';
    const acme = [0, 1, 2].map((ms) => askAs(simulator, 'key-of-acme', path, NOON_MS + ms).status);
    const globex = [3, 4, 2000].map((ms) => askAs(simulator, 'key-of-globex', path, NOON_MS + ms));
    expect(acme).toEqual([200, 200, 429]);
    expect(globex.map(({ status }) => status)).toEqual([200, 200, 200]);
    const hour = 3_600_000;
    expect(askAs(simulator, 'key-of-acme', path, NOON_MS + hour - 1).status).toBe(429);
    expect(askAs(simulator, 'key-of-acme', path, NOON_MS + hour).status).toBe(200);
    // The window of globex was opened 3 ms later.
    expect(globex[0]?.headers['x-ratelimit-remaining']).toBe('2');
    expect(askAs(simulator, 'key-of-globex', path, NOON_MS + hour + 2).status).toBe(429);
    expect(askAs(simulator, 'key-of-globex', path, NOON_MS + hour + 3).status).toBe(200);
  });

  it('may have limits of their own', () => {
    const small = { name: 'initech', key: 'key-of-initech', rateLimit: { requestsPerHour: 1 } };
    const simulator = createSimulator({ accounts: [...accounts, small] });
    const askTwice = (name: string) =>
      [1, 2].map(() => askAs(simulator, `key-of-${name}`, 'commerce/top-products').status);
    expect([askTwice('acme'), askTwice('initech')]).toEqual([
      [200, 200],
      [200, 429],
    ]);
  });

  it('are named in the log, without their keys', () => {
    const simulator = create();
    askAs(simulator, 'key-of-acme', 'prompts/analytics');
    askAs(simulator, 'who', 'prompts/analytics');
    expect(simulator.log.map(({ account }) => account)).toEqual(['acme', undefined]);
    expect(JSON.stringify(simulator.log)).not.toContain('key-of');
    const alone = createSimulator();
    ask(alone, 'prompts/analytics');
    expect(alone.log[0]).not.toHaveProperty('account');
  });

  it('may be hit by a fault alone', () => {
    const faults = [when({ account: 'globex', nth: 2 }, errorStatus(500)), when({}, delay(5))];
    const simulator = create({ faults });
    const statuses = ['acme', 'globex', 'acme', 'globex', 'globex'].map(
      (name) => askAs(simulator, `key-of-${name}`, 'prompts/analytics').status,
    );
    expect(statuses).toEqual([200, 200, 200, 500, 200]);
  });

  it('can be edited together or alone, and what is inserted says whose it is', () => {
    const simulator = create({ ...numbered(3) });
    simulator.editRecords('numbers', insertRows(0, [{ id: 'for all' }]));
    simulator.editRecords('numbers', insertRows(0, [{ id: 'for acme' }]), 'acme');
    expect(readAll(simulator, 'acme', 'numbers').slice(0, 3)).toEqual([
      { workspace: 'acme', id: 'for acme' },
      { workspace: 'acme', id: 'for all' },
      { workspace: 'acme', id: 0 },
    ]);
    expect(readAll(simulator, 'globex', 'numbers')[0]).toEqual({ workspace: 'globex', id: 'for all' });
    expect(() => simulator.editRecords('numbers', insertRows(0, []), 'initech')).toThrow(
      'no account initech',
    );
  });

  it('leave records that are given as text as they are, and those of long lists unmade', () => {
    let made = 0;
    const at = (id: number) => {
      made++;
      return { id };
    };
    const simulator = create({
      ...numbered(0),
      endpoints: {
        texts: { paginated: true, records: () => [rawJson('{"id":1e2}')] },
        long: { paginated: true, records: () => ({ length: 1_000_000, at }) },
      },
    });
    expect(String(askAs(simulator, 'key-of-acme', 'texts').response.body)).toContain('[{"id":1e2}]');
    expect(askAs(simulator, 'key-of-acme', 'long?limit=2').data).toEqual([
      { workspace: 'acme', id: 0 },
      { workspace: 'acme', id: 1 },
    ]);
    expect(made).toBe(2);
  });

  it.each([
    [[{ name: 'Acme', key: 'a' }], '"Acme" is not an account name'],
    [
      [
        { name: 'acme', key: 'a' },
        { name: 'acme', key: 'b' },
      ],
      'the same name',
    ],
    [
      [
        { name: 'acme', key: 'a' },
        { name: 'globex', key: 'a' },
      ],
      'the same key',
    ],
  ])('cannot be taken for each other: %j', (wrong, message) => {
    expect(() => createSimulator({ accounts: wrong })).toThrow(message);
  });

  it('stand in place of keys and tokens', () => {
    expect(() => create({ keys: ['a'] })).toThrow('not both');
    expect(() => create({ bearerTokens: ['a'] })).toThrow('not both');
  });
});

describe('a simulator without accounts', () => {
  it.each(PATHS)('marks no record: %s', (path) => {
    expect(ask(createSimulator(), path).data[0]).not.toHaveProperty('workspace');
  });
});
