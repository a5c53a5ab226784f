import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { makePage, type RecordShape } from './records.ts';

// A process of its own, so that making pages costs the measured process nothing.
// Usage: serve-pages.ts ROWS [flat|nested]. A message { changedEvery: n } restates every nth record from then on. Each
// message is answered with the requests since the last one.
const total = Number(process.argv[2] ?? 1_000);
const shape: RecordShape = process.argv[3] === 'nested' ? 'nested' : 'flat';
let changedEvery = 0;
let requests = 0;
const day = new Date().toUTCString();

const server = createServer((request, response) => {
  requests += 1;
  const url = new URL(request.url ?? '/', 'http://localhost');
  const limit = Number(url.searchParams.get('limit') ?? 100);
  const offset = Number(url.searchParams.get('offset') ?? 0);
  const body = makePage({ total, limit, offset, shape }, (id) =>
    changedEvery > 0 && id % changedEvery === 0 ? 1 : 0,
  );
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    date: day,
    'x-ratelimit-limit': '100000000',
    'x-ratelimit-remaining': '99999999',
    'x-ratelimit-reset': String(Math.floor(Date.now() / 1_000) + 3_600),
  });
  response.end(body);
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
process.on('message', (message: { readonly changedEvery?: number }) => {
  changedEvery = message.changedEvery ?? changedEvery;
  process.send?.({ requests });
  requests = 0;
});
process.on('disconnect', () => process.exit(0));
