import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { NotifyRules } from '../../src/model/notify.ts';
import type { NoticeMessage } from '../../src/notify/build-message.ts';
import type { EndedRun } from '../../src/notify/notice.ts';
import { notifyRun, type NotifySettings } from '../../src/notify/notify-run.ts';
import type { PostJson } from '../../src/notify/post-webhook.ts';
import { runCommand } from '../../src/notify/run-command.ts';
import { makeRunReport, makeStreamReport } from '../cli/support/reports.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-notify-'));
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});
afterAll(() => rmSync(root, { recursive: true }));

const KEY = 'sk-Notify-4711-Secret-Key';
const HOSTILE = 'no "luck" $(touch pwned) `id`; <!channel> & <https://evil.example|here>\u001b[31m\n' + KEY;

function makeSettings(notify: NotifyRules): NotifySettings {
  return {
    notify,
    credentials: { kind: 'api-key', secret: KEY },
    hashKey: undefined,
    destinations: [],
    baseUrl: new URL('https://analytics.example.com/api/v1'),
    stateDir: mkdtempSync(join(root, 'state-')),
    keyExpiresAt: undefined,
    keyExpiryWarning: undefined,
  };
}

function makeFailure(message = HOSTILE): EndedRun {
  const error = { code: 'server_failed', message, hint: 'Wait.', exitCode: 75 } as const;
  return { report: makeRunReport({ exitCode: 75, streams: [makeStreamReport({ error, slice: message })] }) };
}

const webhook = (url: string) => ({ kind: 'webhook', url: new URL(url) }) as const;
const HOOK = webhook('https://hooks.example.com/services/T0/B0/Secret12345');

function play(post: PostJson, run: EndedRun = makeFailure()) {
  const clock = createVirtualClock();
  return notifyRun(makeSettings({ failure: HOOK }), run, { clock, env: {}, post });
}

describe('a run without a key', () => {
  it('is reported all the same', async () => {
    const { credentials: _, ...settings } = makeSettings({ failure: HOOK });
    const error = { code: 'key_missing', message: 'no key', hint: 'Set it.', exitCode: 2 } as const;
    const bodies: string[] = [];
    const post: PostJson = (_url, body) => {
      bodies.push(body);
      return Promise.resolve(204);
    };
    const effects = { clock: createVirtualClock(), env: {}, post };
    expect(await notifyRun(settings, { error }, effects)).toEqual([]);
    expect(bodies.map((body) => JSON.parse(body) as unknown)).toMatchObject([
      { event: 'failure', exitCode: 2, error: { code: 'key_missing', hint: 'Set it.' } },
    ]);
  });
});

describe('a webhook', () => {
  it('gets one JSON text without the key, and nothing that a chat would act on', async () => {
    const bodies: string[] = [];
    await expect(
      play((url, body) => {
        bodies.push(body);
        expect(url.href).toBe(HOOK.url.href);
        return Promise.resolve(204);
      }),
    ).resolves.toEqual([]);
    expect(bodies).toHaveLength(1);
    expect(bodies[0]).not.toContain(KEY);
    const message = JSON.parse(bodies[0] ?? '') as NoticeMessage;
    expect(message).toMatchObject({
      event: 'failure',
      ok: false,
      exitCode: 75,
      runId: 'run-1',
      streamCount: 1,
    });
    expect(message.text).toContain('&lt;!channel&gt; &amp; &lt;https://evil');
    expect(message.summary).toContain('[redacted]');
    expect(JSON.stringify(message)).not.toMatch(/\\u001b|\\n/);
  });

  it.each([
    ['a refusal', [404], 1, 'it answered 404'],
    ['a redirect', [302], 1, 'it answered 302, a redirect, which is not followed'],
    ['a passing fault', [503, 200], 2, undefined],
    ['two faults', [429, 500], 2, 'it answered 500'],
  ])('is tried again only where that helps: %s', async (_, statuses, tries, flaw) => {
    let asked = 0;
    const warnings = await play(() => Promise.resolve(statuses[asked++] ?? 599));
    expect(asked).toBe(tries);
    expect(warnings).toEqual(flaw === undefined ? [] : [expect.stringContaining(flaw)]);
  });

  it('has 10 s for each of two tries', async () => {
    const clock = createVirtualClock();
    const startMs = clock.now();
    const post: PostJson = (_url, _body, signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('given up')));
      });
    const warnings = await notifyRun(makeSettings({ failure: HOOK }), makeFailure(), {
      clock,
      env: {},
      post,
    });
    expect(warnings).toEqual([
      'notify.onFailure failed: it did not answer within 10 s; the run is not affected',
    ]);
    expect(clock.now() - startMs).toBe(21_000);
    expect(clock.sleeperCount).toBe(0);
  });

  it('is named in no warning', async () => {
    const warnings = await play((url) => Promise.reject(new Error(`cannot reach ${url.href}`)));
    expect(warnings).toHaveLength(1);
    expect(warnings.join()).not.toContain('Secret12345');
  });

  it('is really posted to, and no redirect is followed', async () => {
    const seen: string[] = [];
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += String(chunk)));
      request.on('end', () => {
        seen.push(`${request.method} ${request.url} ${request.headers['content-type']} ${body.slice(0, 18)}`);
        const isMoved = request.url === '/moved';
        response
          .writeHead(isMoved ? 302 : 200, isMoved ? { location: '/elsewhere' } : {})
          .end('x'.repeat(100_000));
      });
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const tell = (path: string) =>
      notifyRun(makeSettings({ failure: webhook(origin + path) }), makeFailure(), {
        clock: createVirtualClock({ idleRounds: 1_000_000 }),
        env: {},
      });
    expect(await tell('/hook')).toEqual([]);
    expect(await tell('/moved')).toEqual([expect.stringContaining('it answered 302')]);
    const type = 'application/json; charset=utf-8 {"event":"failure"';
    expect(seen).toEqual([`POST /hook ${type}`, `POST /moved ${type}`]);
  });
});

describe('a failure that continues', () => {
  it('is reported once a day, and again after a run without it', async () => {
    const settings = makeSettings({ failure: HOOK });
    const clock = createVirtualClock({ startMs: Date.parse('2026-11-20T20:00:00Z') });
    const told: string[] = [];
    const effects = {
      clock,
      env: {},
      post: () => {
        told.push(new Date(clock.now()).toISOString().slice(0, 13));
        return Promise.resolve(200);
      },
    };
    for (const run of [makeFailure(), makeFailure(), makeFailure(), makeFailure(), makeFailure()]) {
      await notifyRun(settings, run, effects);
      clock.stepWall(2 * 3_600_000);
    }
    expect(told).toEqual(['2026-11-20T20', '2026-11-21T00']);
    await notifyRun(settings, { report: makeRunReport() }, effects);
    await notifyRun(settings, makeFailure(), effects);
    expect(told).toHaveLength(3);
  });

  it('comes again where nobody was reached', async () => {
    const settings = makeSettings({ failure: HOOK });
    let isUp = false;
    let told = 0;
    const post = () => Promise.resolve((told += 1) > 0 && isUp ? 200 : 404);
    const effects = { clock: createVirtualClock(), env: {}, post };
    expect(await notifyRun(settings, makeFailure(), effects)).toHaveLength(1);
    expect(existsSync(join(settings.stateDir, 'notified.json'))).toBe(false);
    isUp = true;
    expect(await notifyRun(settings, makeFailure(), effects)).toEqual([]);
    expect(await notifyRun(settings, makeFailure(), effects)).toEqual([]);
    expect(told).toBe(2);
  });

  it('is reported once more where the memory of it is damaged', async () => {
    const settings = makeSettings({ failure: HOOK });
    let told = 0;
    const effects = { clock: createVirtualClock(), env: {}, post: () => Promise.resolve((told += 1) && 200) };
    for (const damage of ['{', '[]', '{"version":1,"told":null}']) {
      writeFileSync(join(settings.stateDir, 'notified.json'), damage);
      expect(await notifyRun(settings, makeFailure(), effects)).toEqual([]);
    }
    expect(told).toBe(3);
  });
});

// Programs of a POSIX system.
describe.skipIf(process.platform === 'win32')('a program', () => {
  function makeProgram(script: string): { readonly folder: string; readonly program: string } {
    const folder = mkdtempSync(join(root, 'program-'));
    const program = join(folder, 'tell it.sh');
    writeFileSync(program, `#!/bin/sh\n${script}\n`);
    chmodSync(program, 0o755);
    return { folder, program };
  }

  function tell(program: string, folder: string, args: readonly string[] = []) {
    const target = { kind: 'command', program, args, cwd: folder } as const;
    const env = {
      PATH: process.env['PATH'],
      MY_TOKEN: 'mine-and-wanted',
      ANALYTICS_API_KEY: KEY,
      CURL_ARGS: `-H X-API-Key:${KEY}`,
    };
    return notifyRun(makeSettings({ failure: target }), makeFailure(), { clock: createVirtualClock(), env });
  }

  it('gets JSON on stdin and facts as variables, no key, and no shell reads any of it', async () => {
    const { folder, program } = makeProgram(
      'cat > stdin.json; env > env.txt; printf "%s\\n" "$@" > args.txt',
    );
    expect(await tell(program, folder, ['a b', '$(touch pwned)', '${HOME}'])).toEqual([]);
    const message = JSON.parse(readFileSync(join(folder, 'stdin.json'), 'utf8')) as NoticeMessage;
    expect(message).toMatchObject({ event: 'failure', exitCode: 75 });
    expect(readFileSync(join(folder, 'args.txt'), 'utf8')).toBe('a b\n$(touch pwned)\n${HOME}\n');
    const env = readFileSync(join(folder, 'env.txt'), 'utf8');
    expect(env).toContain('MY_TOKEN=mine-and-wanted\n');
    expect(env).toContain('SLUICE_NOTIFY_EVENT=failure\n');
    expect(env).toContain('SLUICE_NOTIFY_EXIT_CODE=75\n');
    expect(env).toContain('SLUICE_NOTIFY_RUN_ID=run-1\n');
    expect(env).toContain(`SLUICE_NOTIFY_SUMMARY=${message.summary}\n`);
    expect(env).not.toMatch(/ANALYTICS_API_KEY|CURL_ARGS/);
    expect(env).not.toContain(KEY);
    expect(existsSync(join(folder, 'pwned'))).toBe(false);
  });

  it.each([
    ['exit 0', undefined],
    ['exec <&-; exit 0', undefined],
    // What it leaves running keeps nobody waiting.
    ['sleep 3 & exit 0', undefined],
    ['exit 3', 'it ended with code 3'],
    [`echo first >&2; printf 'no \\033[31mmail for ${KEY}\\n' >&2; exit 1`, 'it ended with code 1: no'],
    ['kill -9 $$', 'it was ended by SIGKILL'],
  ])('that does %j is judged by its end', async (script, flaw) => {
    const { folder, program } = makeProgram(script);
    const warnings = await tell(program, folder);
    expect(warnings).toEqual(flaw === undefined ? [] : [expect.stringContaining(flaw)]);
    expect(warnings.join()).not.toContain(KEY);
    expect(warnings.join()).not.toContain('\u001b');
  });

  it('that is not there, or is not executable, is a warning', async () => {
    const { folder, program } = makeProgram('exit 0');
    expect(await tell(join(folder, 'none.sh'), folder)).toEqual([
      'notify.onFailure failed: there is no such program; the run is not affected',
    ]);
    chmodSync(program, 0o644);
    expect(await tell(program, folder)).toEqual([expect.stringContaining('chmod +x')]);
    const target = {
      kind: 'command',
      program: '/bin/true',
      args: ['x'.repeat(4_000_000)],
      cwd: folder,
    } as const;
    expect(await runCommand(target, { text: '{}', env: {}, signal: undefined })).toBe(
      'it could not be started (E2BIG)',
    );
  });

  it('that does not end is ended', async () => {
    const { folder, program } = makeProgram('sleep 60 & echo $! > pid; wait');
    const target = { kind: 'command', program, args: [], cwd: folder } as const;
    const controller = new AbortController();
    const input = { text: '{}', env: { PATH: process.env['PATH'] } };
    expect(await runCommand(target, { ...input, signal: undefined, deadlineMs: 300 })).toBe(
      'it did not end within 0.3 s',
    );
    controller.abort();
    expect(await runCommand(target, { ...input, signal: controller.signal })).toBe('the command was stopped');
  });
});
