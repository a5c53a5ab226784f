import { describe, expect, it } from 'vitest';
import { streamConfigSchema } from '../../src/model/config.ts';
import type { Connector } from '../../src/model/connector.ts';
import { DAY_MS } from '../support/sync-harness.ts';
import { type AnswerPage, createApi, KEY, recordsOf } from './connector-api.ts';

const SECRET_HEADER = { code: 'UNAUTHORIZED', message: 'no' };

/**
 * The tests that every connector has to pass: what it describes is plain and consistent, and a sync of an API that
 * answers as `answer` does is complete, repeatable, resumable and within the limits.
 */
export function describeConnector(connector: Connector, answer: AnswerPage): void {
  describe(`the connector ${connector.name}`, () => {
    describeValues(connector);
    describeSyncs(connector, answer);
  });
}

function describeValues(connector: Connector): void {
  it('is plain values, the same after a trip through JSON', () => {
    expect(JSON.parse(JSON.stringify(connector))).toEqual(connector);
  });

  it('names each stream once, as config could have written it', () => {
    const names = connector.streams.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { name, path } of connector.streams) {
      expect(name).toMatch(/^[a-z_][a-z0-9_]{0,62}$/);
      expect(streamConfigSchema.parse({ path }).path).toBe(path);
    }
  });

  it('has limits that leave room for requests', () => {
    const { requestsPerHour, burstPerSecond, maxPageSize } = connector.limits;
    for (const limit of [requestsPerHour, burstPerSecond]) expect(limit).toBeGreaterThanOrEqual(1);
    expect(maxPageSize).toBeGreaterThanOrEqual(2);
  });

  it('points into the envelope with JSON pointers and names headers that exist', () => {
    const { kind, limitParam, ...rest } = connector.paging;
    expect(['offset', 'cursor']).toContain(kind);
    expect(limitParam).toMatch(/^\S+$/);
    const pointers = Object.entries(rest).filter(([name]) => !name.endsWith('Param'));
    for (const [, pointer] of pointers) expect(pointer).toMatch(/^\/./);
    const { limit, remaining, reset } = connector.rateLimitHeaders;
    for (const header of [connector.auth.keyHeader, limit, remaining, reset])
      expect(header).toMatch(/^[!#$%&'*+.^_`|~\w-]+$/);
  });

  it('tells what a person needs when a key is refused', () => {
    const { rejectionCauses, whereKeysAreMade } = connector.auth;
    expect(rejectionCauses.length).toBeGreaterThan(0);
    expect(whereKeysAreMade).toMatch(/\w{3}/);
  });
}

function describeSyncs(connector: Connector, answer: AnswerPage): void {
  it('brings every record of every stream, once', async () => {
    const api = createApi(connector, answer);
    const report = await api.sync();
    expect(report.exitCode).toBe(0);
    for (const { name } of connector.streams) {
      expect(['verified', 'unverified']).toContain(
        report.streams.find(({ stream }) => stream === name)?.verdict,
      );
      expect(await api.ids(name)).toEqual(recordsOf(name).map(({ id }) => id));
    }
  });

  it('asks with the key in its header alone, and for pages no larger than allowed', async () => {
    const api = createApi(connector, answer);
    await api.sync();
    for (const { url, headers } of api.requests) {
      expect(url.href).not.toContain(KEY);
      expect(headers[connector.auth.keyHeader.toLowerCase()] ?? headers[connector.auth.keyHeader]).toBe(KEY);
      const limit = url.searchParams.get(connector.paging.limitParam);
      if (limit !== null) expect(Number(limit)).toBeLessThanOrEqual(connector.limits.maxPageSize);
    }
  });

  it('changes nothing the second time', async () => {
    const api = createApi(connector, answer);
    await api.sync();
    api.clock.stepWall(DAY_MS);
    const again = await api.sync({ fullRefresh: true });
    expect(again.exitCode).toBe(0);
    for (const { rows } of again.streams) expect(rows).toMatchObject({ inserted: 0, updated: 0, deleted: 0 });
  });

  it('goes on where requests ran out, and asks for no page twice but the first', async () => {
    const stream = connector.streams.find(({ paginated }) => paginated);
    if (stream === undefined) return;
    const whole = createApi(connector, answer);
    await whole.sync({ streams: [stream.name] });
    const parts = createApi(connector, answer);
    const first = await parts.sync({ streams: [stream.name], maxRequests: 3 });
    expect(first.exitCode).toBe(75);
    expect(parts.isPublished()).toBe(false);
    const second = await parts.sync({ streams: [stream.name] });
    expect(second.exitCode).toBe(0);
    expect(await parts.ids(stream.name)).toEqual(recordsOf(stream.name).map(({ id }) => id));
    // The head is asked for once more: to know that the data is the same.
    expect(parts.requests.length).toBeLessThanOrEqual(whole.requests.length + 1);
  });

  it('ends with 3 after one request when the key is refused', async () => {
    const api = createApi(connector, answer, () => ({ status: 401, body: { error: SECRET_HEADER } }));
    expect(await api.sync()).toMatchObject({ exitCode: 3, requests: 1 });
  });

  it('keeps the table and says so when an answer is no page', async () => {
    const api = createApi(connector, answer, () => ({ status: 200, body: { hello: 'there' } }));
    const { exitCode, streams } = await api.sync({ streams: [connector.streams[0]?.name ?? ''] });
    const isPaginated = connector.streams[0]?.paginated === true;
    // An endpoint without pages may well answer with one object.
    expect(exitCode).toBe(isPaginated ? 4 : 0);
    if (isPaginated) expect(streams[0]?.error?.hint).toMatch(/table is as it was/i);
  });

  it('waits for the reset that its headers tell instead of meeting a 429', async () => {
    const api = createApi(connector, answer, undefined, 4);
    const report = await api.sync();
    expect(report.exitCode).toBe(0);
    expect(report.retries).toBe(0);
    expect(api.refused).toBe(0);
    expect(report.waitedMs).toBeGreaterThan(0);
  });
}
