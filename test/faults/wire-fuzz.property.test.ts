import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { parseConfig } from '../../src/config/load-config.ts';
import { resolveSettings } from '../../src/config/resolve-settings.ts';
import { createApiClient } from '../../src/http/client.ts';
import { Quota } from '../../src/http/quota.ts';
import { SyncError } from '../../src/model/errors.ts';
import type { Page } from '../../src/model/page.ts';
import { requestPage } from '../../src/read/request-page.ts';
import { createMemoryQuotaStore } from '../../state/memory-quota-store.ts';
import { countRuns } from '../support/seeds.ts';
import { buildConfig, makeFolder, noBuiltIns, streamOf, unlimited } from '../support/sync-harness.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { servePages } from './kit/serve-pages.ts';
import { createWireFlow, createWireTransport, WIRE_ROWS } from './kit/wire-flow.ts';
import { startWireServer, toBytes, type WireServer } from './kit/wire-server.ts';

/** Exit codes of a server's doing; 1 would be a defect of ours, 6 a disk's. */
const SERVERS_DOING = [2, 3, 4, 75];

const healthy = (path = '/api/v1/items') =>
  servePages(WIRE_ROWS.slice(0, 20))({
    n: 0,
    connection: 0,
    method: 'GET',
    path,
    query: new URLSearchParams('limit=100&offset=0'),
    headers: {},
    atUs: 0,
  });

const wholeAnswer = toBytes(healthy());
const zippedAnswer = toBytes({
  headers: { ...healthy().headers, 'content-encoding': 'gzip' },
  body: gzipSync(healthy().body),
});

/** A change of bytes: some are taken out at a place and others put in. */
const change = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  out: fc.nat(40),
  put: fc.oneof(
    fc.uint8Array({ maxLength: 20 }),
    fc
      .constantFrom(
        '\r\n',
        '\r\n\r\n',
        '0',
        '-1',
        '99999999999',
        'chunked',
        'gzip',
        '{',
        ']',
        '"',
        'null',
        '\0',
      )
      .map((text) => new Uint8Array(Buffer.from(text))),
  ),
});

function mutate(bytes: Buffer, changes: readonly { at: number; out: number; put: Uint8Array }[]): Buffer {
  return changes.reduce((current, { at, out, put }) => {
    const place = Math.floor(at * current.length);
    return Buffer.concat([current.subarray(0, place), put, current.subarray(place + out)]);
  }, bytes);
}

const start = fc.constantFrom(
  '',
  'HTTP/1.1 200 OK\r\n',
  'HTTP/1.1 200 OK\r\n\r\n',
  'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n\x1f\x8b\x08',
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n',
  'HTTP/1.1 429 Slow\r\nretry-after: ',
  'HTTP/1.1 200 OK\r\nx-ratelimit-reset: ',
);

describe('whatever bytes a server answers with', () => {
  let server: WireServer;
  let bytes: Buffer = Buffer.alloc(0);
  beforeAll(async () => {
    server = await startWireServer({
      serve: servePages([]),
      misbehave: () => [{ send: bytes }, 'fin'],
    });
  });
  afterAll(() => server.close());

  /** Asks for one page as a sync does: wire, retries, quota, reading. */
  async function ask(answer: Buffer): Promise<Page | SyncError> {
    bytes = answer;
    const clock = createVirtualClock();
    const folder = makeFolder();
    const places = { duckdbPath: `${folder}/w`, stateDir: `${folder}/s`, ledgerDir: `${folder}/q` };
    const config = buildConfig(places, {
      source: { baseUrl: server.baseUrl },
      streams: { ...noBuiltIns, items: { path: 'items', paginated: true } },
    });
    const settings = resolveSettings({
      loaded: parseConfig(config),
      connectors,
      env: {},
      nowMs: clock.now(),
    });
    const limits = {
      ceilingPerWindow: undefined,
      windowMs: 3_600_000,
      defaultPerWindow: unlimited.requestsPerHour,
      burstPerSecond: unlimited.burstPerSecond,
      reserve: 0,
    };
    const quota = new Quota({ store: createMemoryQuotaStore(), limits, clock, maxWaitMs: 0 });
    const client = createApiClient({
      connector: settings.connector,
      credentials: settings.credentials,
      quota,
      transport: createWireTransport(server.baseUrl, clock),
      clock,
      random: () => 0.5,
    });
    const { connector, baseUrl } = settings;
    const source = {
      name: connector.name,
      connector,
      baseUrl,
      client,
      showsKey: (text: string) => text.includes(settings.credentials.secret),
      readQuota: () => quota.snapshot(),
      seenQuota: () => quota.seen(),
    };
    const [stream] = settings.streams;
    if (stream === undefined) throw new Error('the config has no stream');
    try {
      return await requestPage({ settings, source }, stream, { offset: 0 });
    } catch (error) {
      if (error instanceof SyncError) return error;
      throw error;
    } finally {
      await client.close();
    }
  }

  function expectServersDoing(end: Page | SyncError): void {
    if (!(end instanceof SyncError)) return;
    expect(SERVERS_DOING).toContain(end.exitCode);
    expect(end.message.length).toBeLessThan(2_000);
    expect(/[\u0000-\u001f\u007f-\u009f]/.test(end.message + end.hint)).toBe(false);
  }

  it('that is a page or an error of the server’s doing, never a defect of ours', async () => {
    await fc.assert(
      fc.asyncProperty(start, fc.uint8Array({ maxLength: 300 }), async (text, tail) => {
        expectServersDoing(await ask(Buffer.concat([Buffer.from(text, 'latin1'), tail])));
      }),
      { numRuns: countRuns(120) },
    );
  });

  it('a good answer that was changed somewhere is a page or such an error as well', async () => {
    const good = fc.constantFrom(wholeAnswer, zippedAnswer);
    const changes = fc.array(change, { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(good, changes, async (answer, list) => {
        expectServersDoing(await ask(mutate(answer, list)));
      }),
      { numRuns: countRuns(120) },
    );
  });

  it('a good answer that is cut anywhere is never a page', async () => {
    const good = fc.constantFrom(wholeAnswer, zippedAnswer);
    const place = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
    await fc.assert(
      fc.asyncProperty(good, place, async (answer, at) => {
        const end = await ask(answer.subarray(0, Math.floor(at * answer.length)));
        expect(end).toBeInstanceOf(SyncError);
        expectServersDoing(end);
      }),
      { numRuns: countRuns(60) },
    );
  });
});

describe('whatever JSON a server answers with', () => {
  it('a sync is complete or the source is at fault, and says how', async () => {
    const value = fc.jsonValue({ maxDepth: 3 });
    const name = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.constantFrom('id', 'date', 'ID', 'a b', '', '__proto__', '_run_id', 'rowid'),
      },
      { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }) },
    );
    const record = fc.oneof(
      { weight: 6, arbitrary: fc.dictionary(name, value, { maxKeys: 5 }) },
      { weight: 1, arbitrary: value },
    );
    const envelope = fc.oneof(
      { weight: 5, arbitrary: fc.record({ data: fc.array(record, { maxLength: 12 }) }) },
      { weight: 1, arbitrary: value },
    );
    const pagination = fc.oneof(
      { weight: 3, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: value },
    );
    await fc.assert(
      fc.asyncProperty(envelope, pagination, async (body, given) => {
        const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
        const count = isObject && 'data' in body && Array.isArray(body.data) ? body.data.length : 0;
        const paging = given ?? { total: count, limit: 100, offset: 0, hasMore: false };
        const text = JSON.stringify(isObject ? { ...body, pagination: paging } : body);
        const { sync } = await createWireFlow({
          misbehave: () => [{ send: toBytes({ body: text }) }],
        });
        const report = await sync();
        expect([0, 4]).toContain(report.exitCode);
        if (report.exitCode === 4) expect(streamOf(report).error?.message).toMatch(/^items/);
        else expect(streamOf(report).rows).toMatchObject({ read: count });
      }),
      { numRuns: countRuns(6) },
    );
  });
});
