import { beforeAll, describe, expect, it } from 'vitest';
import type { ExchangeLimits } from '../../src/http/exchange.ts';
import { MAX_TRIES } from '../../src/http/client.ts';
import { HEADERS_DEADLINE_MS } from '../../src/http/deadlines.ts';
import type { StreamReport } from '../../src/model/run-report.ts';
import { countScanRequests, streamOf } from '../support/sync-harness.ts';
import { expectRows } from '../support/published.ts';
import { JSON_TYPE } from './kit/serve-pages.ts';
import { bodyFaults, connectionFaults, protocolFaults, type WireFault } from './kit/wire-faults.ts';
import { type CaseEnd, createWireFlow, syncEach, WIRE_ROWS } from './kit/wire-flow.ts';
import { type Misbehaviour, type Step, toBytes } from './kit/wire-server.ts';

const CLEAN = countScanRequests(WIRE_ROWS.length);
const EXPECTED = expectRows(WIRE_ROWS);

describe('a connection', () => {
  it.each(connectionFaults)('with $what, always, ends with $exitCode and touches nothing', async (fault) => {
    const { sync, flow } = await createWireFlow({
      misbehave: (_, healthy) => fault.steps(healthy),
      ...(fault.limits && { limits: fault.limits }),
    });
    const report = await sync();
    expectEnd(fault, streamOf(report));
    expect(report).toMatchObject({ exitCode: fault.exitCode, requests: fault.requests });
    expect(flow.isPublished()).toBe(false);
  });
});

describe('an answer', () => {
  // None of these ends a run, so that one run has them all.
  const faults = [...protocolFaults, ...bodyFaults];
  let ends: readonly CaseEnd[];
  beforeAll(async () => {
    const run = await syncEach(
      faults.map(
        (fault) =>
          (_, healthy): ReturnType<Misbehaviour> =>
            fault.steps(healthy),
      ),
      { limits: joinLimits(faults) },
    );
    expect(run.report.exitCode).toBe(4);
    expect(run.flow.isPublished()).toBe(false);
    ends = run.ends;
  });

  it.each(faults)('with $what, always, ends with $exitCode after $requests requests', (fault) => {
    const end = ends[faults.indexOf(fault)];
    expect(end?.arrivals).toBe(fault.requests);
    expectEnd(fault, end?.report);
  });
});

describe('an answer without pages', () => {
  // It may be far larger, and is read as it comes: what is about its size has tests of its own.
  const faults = [...protocolFaults, ...bodyFaults].filter(({ limits }) => limits === undefined);
  let ends: readonly CaseEnd[];
  beforeAll(async () => {
    const run = await syncEach(
      faults.map(
        (fault) => (): ReturnType<Misbehaviour> =>
          fault.steps({ headers: JSON_TYPE, body: JSON.stringify({ data: WIRE_ROWS }) }),
      ),
      { paginated: false },
    );
    expect(run.report.exitCode).toBe(4);
    expect(run.flow.isPublished()).toBe(false);
    ends = run.ends;
  });

  it.each(faults)('with $what, always, ends as a page with it does', (fault) => {
    const end = ends[faults.indexOf(fault)];
    expect(end?.arrivals).toBe(fault.requests);
    expect(end?.report.error).toMatchObject({ code: fault.code, exitCode: fault.exitCode });
    expect(end?.report.error?.message).toMatch(
      fault.what === 'gzip that is not labelled' ? /not UTF-8 text/ : fault.says,
    );
  });
});

function expectEnd(fault: WireFault, report: StreamReport | undefined): void {
  expect(report?.error?.message).toMatch(fault.says);
  expect(report?.error).toMatchObject({ code: fault.code, exitCode: fault.exitCode });
  expect(report?.error?.hint).not.toBe('');
}

/** Deadlines and caps that serve each of several faults: the shortest and the smallest. */
function joinLimits(faults: readonly WireFault[]): Partial<ExchangeLimits> {
  const all = faults.flatMap(({ limits }) => Object.entries(limits ?? {}));
  return Object.fromEntries(all.toSorted(([, one], [, other]) => Number(other) - Number(one)));
}

describe.each([
  ['a connection', connectionFaults],
  ['HTTP', protocolFaults],
  ['a body', bodyFaults],
])('everything that can be wrong with %s', (_, faults) => {
  it('once, in one scan, costs a try for each fault and no row', async () => {
    // What no second try heals is not tried again.
    const passing = faults.filter(({ requests }) => requests > 1);
    const pageSize = 5;
    const offsets = passing.map((_, at) => (at + 1) * (pageSize - 1));
    const hit = new Set<number>();
    const { sync, flow, server } = await createWireFlow({
      // Longer than a healthy answer takes on a busy machine.
      limits: { ...joinLimits(passing), headersMs: 500, idleMs: 500, totalMs: 1_000 },
      config: { streams: { items: { path: 'items', paginated: true, pageSize } } },
      misbehave: ({ query }, healthy) => {
        const offset = Number(query.get('offset'));
        if (hit.has(offset)) return undefined;
        hit.add(offset);
        return passing[offsets.indexOf(offset)]?.steps(healthy);
      },
    });
    const report = await sync();
    expect(report.exitCode).toBe(0);
    expect(streamOf(report)).toMatchObject({ verdict: 'verified', rescans: 0 });
    expect(server.arrivals.length).toBeGreaterThanOrEqual(
      countScanRequests(WIRE_ROWS.length, pageSize) + passing.length,
    );
    expect(server.arrivals.length).toBeLessThan(MAX_TRIES * countScanRequests(WIRE_ROWS.length, pageSize));
    expect(await flow.rows('items')).toEqual(EXPECTED);
  });
});

describe('an answer that is odd and right', () => {
  it.each([
    ['a byte order mark', (body: string) => toBytes({ headers: JSON_TYPE, body: `\uFEFF${body}` })],
    [
      'chunks of a byte',
      (body: string) =>
        toBytes({
          headers: { ...JSON_TYPE, 'transfer-encoding': 'chunked' },
          body: Buffer.concat([
            ...[...Buffer.from(body)].map((byte) => Buffer.from([0x31, 13, 10, byte, 13, 10])),
            Buffer.from('0\r\nx-trailer: 1\r\n\r\n'),
          ]),
        }),
    ],
    [
      'announced by 50 hints',
      (body: string) =>
        Buffer.concat([
          Buffer.from('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(50)),
          toBytes({ headers: JSON_TYPE, body }),
        ]),
    ],
    [
      'of another content type',
      (body: string) => toBytes({ headers: { 'content-type': 'text/plain' }, body }),
    ],
    ['of HTTP/1.0', (body: string) => Buffer.from(`HTTP/1.0 200 OK\r\n\r\n${body}`)],
  ])('is read: %s', async (name, toAnswer) => {
    const { sync, flow } = await createWireFlow({
      misbehave: (_, { body }) => [
        { send: toAnswer(body.toString()) },
        ...(name === 'of HTTP/1.0' ? (['fin'] as const) : []),
      ],
    });
    expect(await sync()).toMatchObject({ exitCode: 0, retries: 0 });
    expect(await flow.rows('items')).toEqual(EXPECTED);
  });
});

describe('a refusal with an invalid body', () => {
  const bodies: Readonly<Record<string, (head: string) => readonly Step[]>> = {
    'that is cut': (head) => [{ send: `${head}content-length: 100\r\n\r\n{"error":` }, 'fin'],
    'that stops': (head) => [{ send: `${head}content-length: 100\r\n\r\n{"error":` }, 'hang'],
    'without an end': (head) => [{ send: `${head}\r\n` }, { flood: ' '.repeat(100_000) }],
    'that is not gzip': (head) => [{ send: `${head}content-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}` }],
    'in another encoding': (head) => [{ send: `${head}content-encoding: br\r\ncontent-length: 2\r\n\r\n{}` }],
  };
  const refusals = [
    ['401 Unauthorized', 3, 'key_rejected'],
    ['403 Forbidden', 3, 'key_forbidden'],
    ['404 Not Found', 4, 'stream_not_found'],
    ['400 Bad Request', 4, 'request_rejected'],
    ['302 Found', 4, 'redirect_refused'],
  ] as const;

  it.each(refusals)('is a %s all the same: %i after one request', async (status, exitCode, code) => {
    for (const steps of Object.values(bodies)) {
      const { sync, server } = await createWireFlow({
        misbehave: () => steps(`HTTP/1.1 ${status}\r\ncontent-type: application/json\r\n`),
        limits: { idleMs: 40, maxBytes: 1_000_000 },
      });
      const report = await sync();
      expect(report.exitCode).toBe(exitCode);
      expect(streamOf(report).error).toMatchObject({ code });
      expect(server.arrivals).toHaveLength(1);
    }
  });
});

describe('a server that closes idle connections', () => {
  it('costs at most one more try for each request', async () => {
    const { sync, flow, server } = await createWireFlow({
      misbehave: (_, healthy) => [{ send: toBytes(healthy) }, { waitMs: 1 }, 'rst'],
    });
    const report = await sync();
    expect(report.exitCode).toBe(0);
    expect(server.arrivals.length).toBeLessThanOrEqual(2 * CLEAN);
    expect(await flow.rows('items')).toEqual(EXPECTED);
  });
});

it('waits for headers no longer than 30 s', () => {
  expect(HEADERS_DEADLINE_MS).toBeLessThanOrEqual(30_000);
});
