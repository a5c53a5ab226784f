import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { DEMO_KEY } from '../../src/simulator/simulator-options.ts';
import { expectRows } from '../support/published.ts';
import { createItemsFlow, HOUR_MS, makeFolder, makeItems } from '../support/sync-harness.ts';
import { JSON_TYPE } from './kit/serve-pages.ts';
import { createWireFlow, WIRE_ROWS } from './kit/wire-flow.ts';
import { type Step, toBytes } from './kit/wire-server.ts';

const ENVELOPE = '{"error":{"code":"RATE_LIMIT_EXCEEDED","message":"Slow down.","retryAfter":7}}';
const spent = { 'x-ratelimit-limit': '600', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '600' };

const answer = (
  status: string,
  headers: Readonly<Record<string, string>>,
  body: string | Buffer = ENVELOPE,
): readonly Step[] => [{ send: toBytes({ status, headers: { ...JSON_TYPE, ...headers }, body }) }];

const cutAfter = (headers: string, ...end: readonly Step[]): readonly Step[] => [
  { send: `HTTP/1.1 429 Slow\r\n${headers}\r\ncontent-length: 100\r\n\r\n{"err` },
  ...end,
];

describe('a limit that is reported by an answer with another fault', () => {
  it.each<readonly [what: string, steps: readonly Step[], leastS: number]>([
    ['a 500 with nothing remaining', answer('500 Oops', spent), 600],
    [
      'a 503 that asks for less than the hour does',
      answer('503 Busy', { ...spent, 'retry-after': '5' }),
      600,
    ],
    [
      'a 429 that asks for less than the hour does',
      answer('429 Slow', { ...spent, 'retry-after': '1' }),
      600,
    ],
    ['a 429 with headers in capitals', answer('429 Slow', { 'RETRY-AFTER': '9' }, ''), 9],
    [
      'a 429 whose hint is in gzip',
      answer('429 Slow', { 'content-encoding': 'gzip' }, gzipSync(ENVELOPE)),
      7,
    ],
    [
      'a 429 whose body is a web page',
      answer('429 Slow', { 'content-type': 'text/html', 'retry-after': '4' }, '<html>'),
      4,
    ],
    [
      'a 429 in an encoding that was not requested',
      answer('429 Slow', { 'retry-after': '4', 'content-encoding': 'br' }),
      4,
    ],
    ['a 429 that is cut', cutAfter('retry-after: 3', 'rst'), 3],
    ['a 429 that stops', cutAfter('retry-after: 3', 'hang'), 3],
  ])('is obeyed in %s', async (_, steps, leastS) => {
    const arrivedAtMs: number[] = [];
    const { flow, sync } = await createWireFlow({
      limits: { idleMs: 40 },
      config: { quota: { burstPerSecond: 1 } },
      misbehave: ({ n }) => {
        arrivedAtMs.push(flow.clock.now());
        return n === 1 ? steps : undefined;
      },
    });
    expect(await sync()).toMatchObject({ exitCode: 0, retries: 1 });
    expect(await flow.rows('items')).toEqual(expectRows(WIRE_ROWS));
    const [, told = 0, next = 0] = arrivedAtMs;
    expect(next - told).toBeGreaterThanOrEqual(leastS * 1000);
    expect(next - told).toBeLessThan((leastS + 10) * 1000);
  });
});

const ITEMS = makeItems(600);

describe('a quota ledger', () => {
  const rewrite = (file: string, sql: string) => {
    const db = new DatabaseSync(file);
    db.exec(sql);
    db.close();
  };

  it.each<readonly [what: string, spoil: (file: string) => void, foreseen: boolean]>([
    [
      'is text',
      (file) => writeFileSync(file, 'no ledger at all, and longer than its header. '.repeat(200)),
      true,
    ],
    ['is empty', (file) => writeFileSync(file, ''), true],
    [
      'holds no valid state',
      (file) => rewrite(file, `UPDATE ledger SET state = '{}', revision = revision + 1`),
      true,
    ],
    ['comes from a later version', (file) => rewrite(file, 'PRAGMA user_version = 99'), false],
  ])('that %s allows nothing that the server does not', async (_, spoil, foreseen) => {
    const ledgerDir = makeFolder();
    const flow = createItemsFlow(ITEMS, {
      ledgerDir,
      simulator: { rateLimit: { requestsPerHour: 6, burstPerSecond: 10 } },
      config: { quota: { burstPerSecond: 10 } },
    });
    expect(await flow.sync({ maxRequests: 1 })).toMatchObject({ exitCode: 75, requests: 1 });
    // Somebody else spends two: of six, three are left, and nobody here knows.
    for (const limit of [1, 2]) {
      flow.simulator.handle(
        { method: 'GET', path: `/api/v1/items?limit=${limit}`, headers: { 'x-api-key': DEMO_KEY } },
        flow.clock.now(),
      );
    }
    const ledgers = readdirSync(ledgerDir).filter((name) => !/-(wal|shm|journal)$/.test(name));
    expect(ledgers).toHaveLength(1);
    spoil(join(ledgerDir, ledgers[0] ?? ''));

    const stopped = await flow.sync({ maxWaitMs: 0 });
    expect(stopped).toMatchObject({ exitCode: 75, requests: 3, rateLimited: 0 });
    // A ledger that may not be written remembers nothing: the next run learns it from one 429.
    const rateLimited = foreseen ? 0 : 1;
    expect(await flow.sync({ maxWaitMs: 3 * HOUR_MS })).toMatchObject({ exitCode: 0, rateLimited });
    expect(await flow.rows('items')).toEqual(expectRows(ITEMS));
  });
});
