import { onTestFinished } from 'vitest';
import { TransportFault } from '../../../src/model/http.ts';
import { makeServerCertificate } from '../kit/make-certificate.ts';
import type { Scenario } from '../kit/scenario.ts';
import { JSON_TYPE } from '../kit/serve-pages.ts';
import {
  answer,
  atOffset,
  refuse,
  rewrite,
  setUp,
  syncAgainst,
  syncAgainstLater,
  syncOn,
} from '../kit/stage.ts';
import { startProxy } from '../kit/start-proxy.ts';
import type { Misbehaviour } from '../kit/wire-server.ts';

const unauthorized = refuse('401 Unauthorized', 'UNAUTHORIZED', 'The API key has been revoked.');
const forbidden = refuse('403 Forbidden', 'FORBIDDEN', 'Insufficient permissions.');
const oops = refuse('500 Internal Server Error', 'INTERNAL_ERROR', 'Unexpected server error.');

const rateLimited =
  (seconds: number): Misbehaviour =>
  () =>
    answer({
      status: '429 Too Many Requests',
      headers: { ...JSON_TYPE, 'retry-after': String(seconds) },
      body: '{"error":{"code":"RATE_LIMIT_EXCEEDED","message":"Rate limit exceeded."}}',
    });

const inOrder = { config: { source: { quota: { burstPerSecond: 1 } } } };
const twoStreams = {
  config: {
    streams: {
      items: { path: 'items', paginated: true },
      others: { path: 'others/items', paginated: true },
      visibility_mentions: { enabled: false },
      prompts_analytics: { enabled: false },
      commerce_category_products: { enabled: false },
      commerce_top_products: { enabled: false },
    },
  },
};
const onlyOthers =
  (how: Misbehaviour): Misbehaviour =>
  (request, healthy) =>
    request.path.endsWith('/others/items') ? how(request, healthy) : undefined;

/** The rows of docs/reliability.md about the network and the API, by the name in their last cell. */
export const wireScenarios: Readonly<Record<string, Scenario>> = {
  'all is well': async () => syncOn(await setUp()),
  'nothing is due': async () => {
    const stage = await setUp();
    await syncOn(stage);
    return syncOn(stage);
  },
  'a fault that passes': syncAgainst((request, healthy) =>
    request.n === 1 ? oops(request, healthy) : undefined,
  ),
  'nobody listens': async () => {
    const stage = await setUp();
    await stage.server.close();
    return syncOn(stage);
  },
  'no such host': syncAgainst(() => undefined, {
    transport: () => ({
      send: () => Promise.reject(new TransportFault('dns', 'ENOTFOUND', { sent: false })),
      close: () => Promise.resolve(),
    }),
  }),
  'nobody answers': syncAgainst(() => ['hang'], { limits: { headersMs: 40 } }),
  'the connection breaks': syncAgainst((request) => (request.n > 0 ? ['rst'] : undefined)),
  'a bad certificate': async () => syncOn(await setUp({ tls: makeServerCertificate({ host: '127.0.0.1' }) })),
  'a proxy refuses': async () => {
    const proxy = await startProxy((socket) =>
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'),
    );
    onTestFinished(() => proxy.close());
    return syncOn(await setUp({ tls: makeServerCertificate({ host: '127.0.0.1' }), proxy: proxy.url }));
  },
  'a proxy without its scheme': async () =>
    syncOn(
      await setUp({
        tls: makeServerCertificate({ host: '127.0.0.1' }),
        proxy: 'proxy.example.com:3128',
      }),
    ),
  'the server fails': syncAgainst(oops),
  'one page fails': syncAgainst(atOffset(99, oops)),
  'a page to sign in': syncAgainst(() =>
    answer({ headers: { 'content-type': 'text/html' }, body: '<!doctype html><title>Sign in</title>' }),
  ),
  'no HTTP': syncAgainst(() => [{ send: '220 mail.example.com ESMTP\r\n' }]),
  'another envelope': syncAgainst(rewrite(({ data }) => ({ items: data }))),
  'an error with status 200': syncAgainst(() =>
    answer({ headers: JSON_TYPE, body: '{"error":{"code":"INTERNAL_ERROR","message":"Try again."}}' }),
  ),
  'a redirect': syncAgainst(() =>
    answer({ status: '302 Found', headers: { location: 'https://login.example.com/?next=api' }, body: '' }),
  ),
  'a wrong path': syncAgainst(refuse('404 Not Found', 'NOT_FOUND', 'No such endpoint.')),
  'a missing parameter': syncAgainst(
    refuse('400 Bad Request', 'VALIDATION_ERROR', 'Missing required parameter: entity'),
  ),
  'a refused key': syncAgainst(unauthorized),
  'a key revoked in mid-run': syncAgainst(atOffset(99, unauthorized), inOrder),
  'a key without permission': syncAgainst(forbidden),
  'a key without permission for one stream': syncAgainst(onlyOthers(forbidden), twoStreams),
  'data that moves': syncAgainst(
    rewrite(({ data, pagination }, n) => ({ data: data.map((row) => ({ ...row, seen: n })), pagination })),
  ),
  'data that is gone': syncAgainstLater(
    rewrite(({ pagination }) => ({ data: [], pagination: { ...pagination, total: 0, hasMore: false } })),
  ),
  'most of the data is gone': syncAgainstLater(
    rewrite(({ data, pagination }) => ({
      data: data.slice(0, 50),
      pagination: { ...pagination, total: 50, hasMore: false },
    })),
    { config: { defaults: { deletes: 'hard' } } },
  ),
  'data that breaks its contract': syncAgainstLater(
    rewrite(({ data, pagination }) => ({ data: data.map((row) => ({ ...row, surprise: 1 })), pagination })),
    { config: { defaults: { contract: 'freeze' } } },
  ),
  'the hour is spent': syncAgainst(rateLimited(3_600), {}, '--max-wait', '0'),
  'the hour is spent after the first of two streams': syncAgainst(
    onlyOthers(rateLimited(3_600)),
    twoStreams,
    '--max-wait',
    '0',
  ),
  'a 429 that never ends': syncAgainst(rateLimited(5)),
};
