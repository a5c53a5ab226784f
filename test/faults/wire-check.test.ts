import { existsSync, readdirSync } from 'node:fs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { HEADERS_DEADLINE_MS } from '../../src/http/deadlines.ts';
import type { ErrorCode } from '../../src/model/errors.ts';
import { noBuiltIns } from '../support/sync-harness.ts';
import { createCliProject } from './kit/cli-project.ts';
import { readEnd } from './kit/scenario.ts';
import { servePages } from './kit/serve-pages.ts';
import { WIRE_ROWS } from './kit/wire-flow.ts';
import { type Misbehaviour, startWireServer, toBytes } from './kit/wire-server.ts';

const STREAMS = ['one', 'two', 'three'];

async function setUp(misbehave?: Misbehaviour) {
  const serve = servePages(WIRE_ROWS);
  const server = await startWireServer({
    serve: (request) => serve({ ...request, path: '/api/v1/items' }),
    ...(misbehave && { misbehave }),
  });
  onTestFinished(() => server.close());
  const streams = Object.fromEntries(STREAMS.map((name) => [name, { path: name, paginated: true }]));
  const project = createCliProject({
    baseUrl: server.baseUrl,
    config: { streams: { ...noBuiltIns, ...streams } },
  });
  return { server, project };
}

/** Nothing comes, and time passes only once the request is here: the deadline is the real one. */
const staySilent: Misbehaviour = () => {
  setImmediate(() => vi.advanceTimersByTime(HEADERS_DEADLINE_MS));
  return ['hang'];
};

function stopTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
}

function answer(status: string, headers: Readonly<Record<string, string>> = {}): Misbehaviour {
  const body = '{"error":{"code":"SOME_CODE","message":"some words"}}';
  return () => [{ send: toBytes({ status, headers, body }) }];
}

interface Trouble {
  readonly what: string;
  readonly code: ErrorCode;
  /** What the server does in place of its healthy answer. */
  readonly misbehave: Misbehaviour;
  /** Exit code when it befalls every request, and when only the second. */
  readonly always: number;
  readonly second: number;
  /** Whether nothing more is asked after it. */
  readonly isLast: boolean;
}

const troubles: readonly Trouble[] = [
  {
    what: 'a 429',
    code: 'quota_exhausted',
    misbehave: answer('429 Slow Down', { 'retry-after': '60' }),
    always: 75,
    second: 75,
    isLast: true,
  },
  {
    what: 'a 429 without a hint',
    code: 'quota_exhausted',
    misbehave: answer('429 Slow Down'),
    always: 75,
    second: 75,
    isLast: true,
  },
  {
    what: 'a refused key',
    code: 'key_rejected',
    misbehave: answer('401 Unauthorized'),
    always: 3,
    second: 3,
    isLast: true,
  },
  {
    what: 'a missing permission',
    code: 'key_forbidden',
    misbehave: answer('403 Forbidden'),
    always: 3,
    second: 3,
    isLast: false,
  },
  {
    what: 'a wrong path',
    code: 'stream_not_found',
    misbehave: answer('404 Not Found'),
    always: 4,
    second: 4,
    isLast: false,
  },
  {
    what: 'a wrong parameter',
    code: 'request_rejected',
    misbehave: answer('400 Bad Request'),
    always: 4,
    second: 4,
    isLast: false,
  },
  {
    what: 'a redirect',
    code: 'redirect_refused',
    misbehave: answer('302 Found', { location: '/login' }),
    always: 4,
    second: 4,
    isLast: false,
  },
  {
    what: 'a server that fails',
    code: 'server_failed',
    misbehave: answer('500 Oops'),
    always: 75,
    second: 75,
    isLast: false,
  },
  {
    what: 'a connection that ends',
    code: 'network_unreachable',
    misbehave: () => ['fin'],
    always: 75,
    second: 75,
    isLast: true,
  },
  {
    what: 'silence',
    code: 'network_unreachable',
    misbehave: staySilent,
    always: 75,
    second: 75,
    isLast: true,
  },
];

describe('check', () => {
  it.each(troubles)(
    'meets $what with one request, and stops where the next would end alike',
    async (trouble) => {
      if (trouble.misbehave === staySilent) stopTimers();
      const always = await setUp(trouble.misbehave);
      const end = readEnd(await always.project.run(['check', '--json']));
      expect(end).toMatchObject({ exitCode: trouble.always, code: trouble.code });
      expect(always.server.arrivals).toHaveLength(trouble.isLast ? 1 : STREAMS.length);

      const second = await setUp((request, healthy) =>
        request.path.endsWith('two') ? trouble.misbehave(request, healthy) : undefined,
      );
      expect((await second.project.run(['check'])).exitCode).toBe(trouble.second);
      expect(second.server.arrivals).toHaveLength(trouble.isLast ? 2 : STREAMS.length);
      expect(readdirSync(second.project.folder).toSorted()).toEqual(['quota', 'sluice.yaml', 'state']);
    },
  );
});

describe.each([['plan'], ['sync', '--dry-run']])('%s %s', (...argv) => {
  const command = argv.filter((word) => word !== undefined);

  it('spends one request a stream and writes no table and no page', async () => {
    const { server, project } = await setUp();
    expect((await project.run(command)).exitCode).toBe(0);
    expect(server.arrivals.map(({ path }) => path.split('/').at(-1))).toEqual(STREAMS);
    expect(existsSync(project.duckdbPath)).toBe(false);
    expect(existsSync(project.stateDir)).toBe(false);
  });

  it.each(troubles)('meets $what with one request', async ({ misbehave, always, code, isLast }) => {
    if (misbehave === staySilent) stopTimers();
    const { server, project } = await setUp(misbehave);
    const end = readEnd(await project.run([...command, '--json']));
    expect(end).toMatchObject({ exitCode: always, code });
    expect(server.arrivals).toHaveLength(isLast ? 1 : STREAMS.length);
    expect(existsSync(project.stateDir)).toBe(false);
  });
});

describe('the commands that ask nobody', () => {
  it('send no request', async () => {
    const { server, project } = await setUp();
    await project.run(['sync']);
    const { length } = server.arrivals;
    for (const argv of [
      ['status'],
      ['runs'],
      ['plan', '--offline'],
      ['query', 'SELECT 1'],
      ['config', 'show'],
      ['--help'],
      ['--version'],
    ]) {
      expect((await project.run(argv)).exitCode, argv.join(' ')).toBe(0);
    }
    expect(server.arrivals).toHaveLength(length);
  });
});
