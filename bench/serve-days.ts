import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { daysOf, makeDatedRecord } from './dated-records.ts';

// Serves the newest records of a large table, and days on which one percent of it was restated, in a process of
// its own. Usage: serve-days.ts ROWS. A message { mode, version } says what from then on, and is answered:
// - 'seed': the newest records, at most a thousand, for a first sync;
// - 'recent': those of the newest days, one in a hundred of all, each with other numbers;
// - 'fixed': the newest thousand, each with other numbers;
// - 'scattered': every hundredth of all, each with other numbers and a newer time of change.
interface Message {
  readonly mode: 'seed' | 'recent' | 'fixed' | 'scattered';
  readonly version: number;
}

const rows = Number(process.argv[2] ?? 100_000);
const days = daysOf(new Date());
const share = Math.ceil(rows / 100);
let now: Message = { mode: 'seed', version: 0 };

/** Which records are served: their number, and the id of each. */
function choose({ mode, version }: Message): {
  readonly count: number;
  readonly idOf: (at: number) => number;
} {
  if (mode === 'scattered') return { count: share, idOf: (at) => (at * 100 + version) % rows };
  const count = mode === 'recent' ? share : Math.min(1_000, rows);
  return { count, idOf: (at) => rows - 1 - at };
}

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const limit = Number(url.searchParams.get('limit') ?? 100);
  const offset = Number(url.searchParams.get('offset') ?? 0);
  const { count, idOf } = choose(now);
  const records: string[] = [];
  for (let at = offset; at < Math.min(count, offset + limit); at += 1)
    records.push(makeDatedRecord(idOf(at), rows, days, now));
  const body = `{"data":[${records.join(',')}],"pagination":{"total":${count},"limit":${limit},"offset":${offset},"hasMore":${offset + limit < count}}}`;
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
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
process.on('message', (message: Message) => {
  now = message;
  process.send?.('done');
});
process.on('disconnect', () => process.exit(0));
