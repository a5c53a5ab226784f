import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import { cliEntry } from '../support/cli-entry.ts';
import { startNode, waitForEnd } from '../support/run-node.ts';
import { makeItems, noBuiltIns } from '../support/sync-harness.ts';
import { createCliProject } from './kit/cli-project.ts';
import { servePages } from './kit/serve-pages.ts';
import { type Misbehaviour, startWireServer, type Step } from './kit/wire-server.ts';

/** A process that holds one answer at its limit needs about 350 MB; ten of them would be gigabytes. */
const MOST_MB = 600;

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
const block = Buffer.alloc(256 * 1024, 0x20);

function zip(document: Buffer): readonly Step[] {
  const zipped = gzipSync(document, { level: 1 });
  return [
    { send: `${HEAD}content-encoding: gzip\r\ncontent-length: ${zipped.length}\r\n\r\n` },
    { send: zipped },
  ];
}

/** Each is small on the wire, or has no end; none may be large in memory. */
const bombs = {
  white_space: [{ send: `${HEAD}\r\n` }, { flood: block }],
  chunks: [
    { send: `${HEAD}transfer-encoding: chunked\r\n\r\n` },
    { flood: Buffer.concat([Buffer.from('40000\r\n'), block, Buffer.from('\r\n')]) },
  ],
  records: [{ send: `${HEAD}\r\n{"data":[{}` }, { flood: ',{"id":1,"name":"x"}'.repeat(10_000) }],
  one_text: [{ send: `${HEAD}\r\n{"data":[{"name":"` }, { flood: Buffer.alloc(256 * 1024, 'x') }],
  large_record: [
    { send: `${HEAD}\r\n{"data":[{"id":1,"name":"` },
    { send: Buffer.alloc(50 * 2 ** 20, 'x') },
    { send: '"}],"pagination":{"limit":100,"offset":0,"total":1,"hasMore":false}}' },
    'fin',
  ],
  zipped_white_space: zip(Buffer.alloc(200_000_000, 0x20)),
  zipped_levels: zip(Buffer.alloc(60_000_000, '[')),
  zipped_values: zip(Buffer.from(`{"data":[{}${',{}'.repeat(15_000_000)}]}`)),
} satisfies Readonly<Record<string, readonly Step[]>>;

/** Syncs a stream for each bomb in a process of its own. */
async function syncBombs(names: readonly (keyof typeof bombs)[], when: (offset: number) => boolean) {
  const misbehave: Misbehaviour = ({ path, query }) =>
    when(Number(query.get('offset'))) ? bombs[path.split('/').at(-1) as keyof typeof bombs] : undefined;
  const serve = servePages(makeItems(700));
  const server = await startWireServer({
    serve: (request) => serve({ ...request, path: '/api/v1/items' }),
    misbehave,
  });
  onTestFinished(() => server.close());
  const streams = names.map((name) => [name, { path: name, paginated: true }] as const);
  const { folder } = createCliProject({
    baseUrl: server.baseUrl,
    config: { streams: { ...noBuiltIns, ...Object.fromEntries(streams) } },
  });
  const peakFile = join(folder, 'peak.txt');
  const child = startNode(cliEntry, ['sync', '--json'], {
    cwd: folder,
    env: {
      ANALYTICS_API_KEY: 'test-key-0123456789',
      SLUICE_CONFIG: join(folder, 'sluice.yaml'),
      NODE_OPTIONS: `--import=${join(import.meta.dirname, 'kit/report-peak.ts')}`,
      PEAK_FILE: peakFile,
    },
  });
  const { exitCode, stdout } = await waitForEnd(child);
  const { result } = JSON.parse(stdout) as {
    readonly result: { readonly streams: readonly { readonly error: { readonly message: string } }[] };
  };
  return {
    exitCode,
    messages: result.streams.map(({ error }) => error.message),
    peakMb: Number(readFileSync(peakFile, 'utf8')),
  };
}

it('an answer that is a bomb ends with 4, and takes no more memory than one may', async () => {
  const names = Object.keys(bombs) as (keyof typeof bombs)[];
  const { exitCode, messages, peakMb } = await syncBombs(names, () => true);
  expect(exitCode).toBe(4);
  const tooLarge = /a body beyond the limit: the (decompressed )?body is larger than 67108864 bytes/;
  expect(messages).toEqual([
    ...Array.from({ length: 4 }, () => expect.stringMatching(tooLarge) as string),
    expect.stringMatching(/record 0 of large_record is larger than 16 MB/) as string,
    expect.stringMatching(tooLarge) as string,
    expect.stringMatching(/the body has more than 600 levels/) as string,
    expect.stringMatching(/the body has more than 1,000,000 values/) as string,
  ]);
  expect(peakMb).toBeLessThan(MOST_MB);
});

it('bombs for every page that is in flight take no more memory than one', async () => {
  const names = ['white_space', 'zipped_levels'] as const;
  const { exitCode, peakMb } = await syncBombs(names, (offset) => offset > 0);
  expect(exitCode).toBe(4);
  expect(peakMb).toBeLessThan(MOST_MB);
});
