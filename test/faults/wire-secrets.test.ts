import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Flow } from '../support/sync-harness.ts';
import { createCliProject } from './kit/cli-project.ts';
import { escapeHtml, findForms, findInFiles } from './kit/find-secret.ts';
import { servePages } from './kit/serve-pages.ts';
import { createWireFlow, syncEach, WIRE_ROWS } from './kit/wire-flow.ts';
import { type Misbehaviour, startWireServer, type Step, toBytes } from './kit/wire-server.ts';

/** Every character that a key may hold and an encoding may change. */
const KEY = 'sk_live/9f+8e=7d~6c.5b!4a$3%41&*()<z>|{y}^x';

const reply = (
  status: string,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): readonly Step[] => [{ send: toBytes({ status, headers, body }) }];

/** A text of which a quotation of so many characters takes the first half. */
const cutAt = (length: number, text: string): string =>
  '.'.repeat(Math.max(0, length - Math.ceil(text.length / 2))) + text;

const envelope = (message: string, code = 'VALIDATION_ERROR') => JSON.stringify({ error: { code, message } });

/** Ways of a server to say a text back to its client. */
const echoes: Readonly<Record<string, (text: string) => Misbehaviour>> = {
  'the message of a 400': (text) => () => reply('400 Bad Request', envelope(`no such key: ${text}`)),
  'the code of a 400': (text) => () => reply('400 Bad Request', envelope('-', `E_${text}`)),
  'a 401': (text) => () => reply('401 Unauthorized', envelope(`${text} is revoked`)),
  'a 403': (text) => () => reply('403 Forbidden', envelope(`${text} may not`)),
  'a 404': (text) => () => reply('404 Not Found', envelope(`nothing for ${text}`)),
  'a 500': (text) => () => reply('500 Oops', envelope(`failed for ${text}`)),
  'the id of a request': (text) => () => reply('400 Bad Request', '{}', { 'x-request-id': text }),
  'the reason of a status': (text) => () => reply(`400 ${text}`, '{}'),
  'an error with status 200': (text) => () => reply('200 OK', envelope(`no such key: ${text}`)),
  'the code of an error with status 200': (text) => () => reply('200 OK', envelope('-', text)),
  'a page to sign in': (text) => () => reply('200 OK', `<p>Your key ${text} is not known`),
  'a page that is cut where it is quoted': (text) => () => reply('200 OK', cutAt(200, text)),
  'a page whose first words are it': (text) => () => reply('200 OK', text),
  'a content type': (text) => () => reply('200 OK', '<p>', { 'content-type': `text/${text}` }),
  'a content type that is cut': (text) => () => reply('200 OK', '<p>', { 'content-type': cutAt(80, text) }),
  'a content encoding': (text) => () => reply('200 OK', '{}', { 'content-encoding': text }),
  'a content encoding that is cut': (text) => () =>
    reply('200 OK', '{}', { 'content-encoding': cutAt(60, text) }),
  'names of members': (text) => () => reply('200 OK', JSON.stringify({ [text]: 1 })),
  'names of members that are cut': (text) => () => reply('200 OK', JSON.stringify({ [cutAt(40, text)]: 1 })),
  'a total': (text) => () => reply('200 OK', JSON.stringify({ data: [], pagination: { total: text } })),
  'an answer that is a text': (text) => () => reply('200 OK', JSON.stringify(text)),
  'what is not HTTP': (text) => () => [{ send: `${text}\r\n\r\n` }, 'fin'],
  'an invalid header': (text) => () => [{ send: `HTTP/1.1 200 OK\r\n${text}\0:\r\n\r\n` }, 'fin'],
  'a chunk size': (text) => () => [
    { send: `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${text}\r\n` },
    'fin',
  ],
  'the host of a redirect': (text) => () =>
    reply('302 Found', '', { location: `https://${text}.example.com/` }),
  'the scheme of a redirect': (text) => () => reply('302 Found', '', { location: `${text}:x` }),
  'a body in two pieces': (text) => (_request) => {
    const bytes = toBytes({ status: '400 Bad Request', body: envelope(`no such key: ${text}`) });
    const middle = bytes.indexOf(text) + (text.length >> 1);
    return [{ send: bytes.subarray(0, middle) }, { waitMs: 5 }, { send: bytes.subarray(middle) }];
  },
  'a body in gzip pieces': (text) => () =>
    reply('400 Bad Request', envelope(`no such key: ${text}`), { connection: 'close' }).concat('fin'),
};

const encodings: readonly ((key: string) => string)[] = [
  (key) => encodeURIComponent(key),
  (key) => Buffer.from(key).toString('base64'),
  (key) => Buffer.from(`X-API-Key: ${key}`).toString('base64'),
  (key) => Buffer.from(key).toString('base64url'),
  (key) => Buffer.from(key).toString('hex'),
  (key) => escapeHtml(key),
  (key) => JSON.stringify(JSON.stringify({ key })).slice(1, -1),
  (key) => key.toLowerCase(),
];

describe('a key that the server says back', () => {
  // A refused key ends the run, so it comes last.
  const names = Object.keys(echoes).toSorted((a, b) => Number(a === 'a 401') - Number(b === 'a 401'));

  it.each([
    ['plain', [(key: string) => key]],
    ['encoded', encodings],
  ])('%s is in no report, no event and no file', async (_, ways) => {
    // Each way to say it with another encoding; that all are known is a property of its own.
    const cases = names.map((name, at) =>
      echoes[name]?.((ways[at % ways.length] ?? encodeURIComponent)(KEY)),
    );
    const { flow, report, ends } = await syncEach(
      cases.filter((way) => way !== undefined),
      { config: { source: { apiKey: KEY } } },
    );
    expect(report.exitCode).toBe(3);
    ends.forEach((end, at) => {
      expect(end.report.error, names[at]).toBeDefined();
      expect(findForms(inspect(end.report, { depth: 9 }), KEY), names[at]).toEqual([]);
    });
    expect(findForms(inspect([report, flow.events], { depth: 9 }), KEY)).toEqual([]);
    expect(findInFiles(flow.folder, KEY)).toEqual([]);
  });

  const FORMATS = [[], ['--json'], ['--log-format', 'json', '--log-level', 'debug']] as const;
  const COMMANDS = ['sync', 'runs', 'status', 'check', 'plan', 'discover'] as const;

  it.each(['a page that is cut where it is quoted', 'the message of a 400', 'names of members'])(
    'in %s is in no output of any command, then and the morning after',
    async (name) => {
      const misbehave = echoes[name]?.(KEY) ?? (() => undefined);
      const server = await startWireServer({ serve: servePages(WIRE_ROWS), misbehave });
      onTestFinished(() => server.close());
      const project = createCliProject({ baseUrl: server.baseUrl, apiKey: KEY });
      for (const command of COMMANDS) {
        for (const format of FORMATS) {
          for (const columns of [undefined, 40]) {
            const { stdout, stderr } = await project.run([command, ...format], {
              ...(columns && { columns }),
            });
            expect(stdout + stderr).not.toBe('');
            // A table breaks lines where it likes.
            expect(findForms((stdout + stderr).replaceAll(/\s/g, ''), KEY)).toEqual([]);
          }
        }
      }
      // Somebody else looks, whose shell knows no key to hide.
      const env = { ANALYTICS_API_KEY: undefined };
      for (const command of ['runs', 'status']) {
        const { exitCode, stdout, stderr } = await project.run([command, '--json'], { env });
        expect(exitCode).toBe(0);
        expect(findForms(stdout + stderr, KEY)).toEqual([]);
      }
      expect(findInFiles(project.folder, KEY)).toEqual([]);
    },
  );
});

describe('a key in the data', () => {
  it('is data: it is stored as it came, and in nothing that reports the run', async () => {
    const records = WIRE_ROWS.map((row) => ({ ...row, note: `${KEY} ${row.id}` }));
    const { sync, flow } = await createWireFlow({ records, config: { source: { apiKey: KEY } } });
    const report = await sync();
    expect(report.exitCode).toBe(0);
    expect((await flow.query('SELECT note FROM main.items ORDER BY id LIMIT 1'))[0]).toEqual({
      note: `${KEY} 0`,
    });
    expect(findForms(inspect([report, flow.events], { depth: 9 }), KEY)).toEqual([]);
    await expectNoTrace(flow);
  });
});

describe('the record of a run whose server said the key back', () => {
  it('is published without it, once a later run commits', async () => {
    const { sync, flow, server } = await createWireFlow({ config: { source: { apiKey: KEY } } });
    server.misbehave(echoes['an error with status 200']?.(KEY));
    const failed = await sync();
    server.misbehave(undefined);
    expect((await sync()).exitCode).toBe(0);
    const runs = await flow.query('SELECT run_id, exit_code FROM _sluice.runs');
    expect(runs).toContainEqual({ run_id: failed.runId, exit_code: 4 });
    await expectNoTrace(flow);
  });
});

/** Looks through everything that Sluice publishes of itself. */
async function expectNoTrace(flow: Pick<Flow, 'query' | 'folder'>): Promise<void> {
  const tables = await flow.query(
    "SELECT table_name FROM information_schema.tables WHERE table_schema = '_sluice'",
  );
  expect(tables.length).toBeGreaterThan(5);
  for (const { table_name: table } of tables) {
    const rows = await flow.query(`SELECT * FROM _sluice."${String(table)}"`);
    expect(findForms(JSON.stringify(rows), KEY), String(table)).toEqual([]);
  }
}

describe('a key that is in order', () => {
  it('is in no file of a project, whatever its run came to', async () => {
    const { sync, flow, server } = await createWireFlow({ config: { source: { apiKey: KEY } } });
    expect((await sync()).exitCode).toBe(0);
    server.misbehave(() => reply('500 Oops', '{}', { 'x-request-id': KEY }));
    expect((await sync({ force: true })).exitCode).toBe(75);
    expect(server.arrivals.every(({ headers }) => headers['x-api-key'] === KEY)).toBe(true);
    expect(findInFiles(flow.folder, KEY)).toEqual([]);
  });
});
