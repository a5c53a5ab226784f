import { describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/cli/frame/engine.ts';
import { ConfigError } from '../../../src/model/errors.ts';
import type { StatusReport } from '../../../src/model/reports.ts';
import type { OfflineSettings } from '../../../src/model/settings.ts';
import { run, stoppedClock } from '../support/capture.ts';
import { makeKnownAccounts } from '../support/known-accounts.ts';
import { makeRunReport, makeStreamReport, NOW_MS } from '../support/reports.ts';
import { makeStatusRow } from '../support/status-rows.ts';

const ago = (hours: number) => new Date(NOW_MS - hours * 3_600_000).toISOString();

function makeStatus(more: Partial<StatusReport> = {}): StatusReport {
  return {
    duckdbPath: '/data/warehouse.duckdb',
    published: { bytes: 4_200_000, modifiedAt: ago(3) },
    streams: [makeStatusRow(), makeStatusRow({ stream: 'sentiment_topics', verifiedAt: ago(5) })],
    quota: undefined,
    lastRun: makeRunReport({ startedAt: ago(3) }),
    refused: undefined,
    quarantined: 0,
    ...more,
  };
}

const never: Partial<StatusReport> = {
  published: undefined,
  lastRun: undefined,
  streams: [makeStatusRow({ verdict: undefined, verifiedAt: undefined, rows: undefined, fresh: false })],
};
const failed = makeStatusRow({
  unsettled: { runId: 'run-1', startedAt: ago(1), status: 'failed', error: undefined },
});

/** An engine with these accounts; an error in place of a status is what their config throws. */
function makeEngine(statuses: Readonly<Record<string, StatusReport | Error>>): Partial<Engine> {
  const known = makeKnownAccounts(Object.keys(statuses));
  return {
    listAccounts: () => Promise.resolve(known),
    loadOfflineSettings: ({ account }) => {
      const found = statuses[account?.name ?? ''];
      if (found instanceof Error) return Promise.reject(found);
      return Promise.resolve({
        stateDir: account?.name,
        notify: {},
        destinations: [],
      } as unknown as OfflineSettings);
    },
    readStatus: ({ stateDir }) => Promise.resolve(statuses[stateDir] as StatusReport),
    readRecentRuns: ({ stateDir }) => {
      const found = statuses[stateDir];
      return Promise.resolve(found instanceof Error || found?.lastRun === undefined ? [] : [found.lastRun]);
    },
  };
}

const typo = new ConfigError('accounts.initech.streems: is not a setting', {
  code: 'config_invalid',
  hint: 'Did you mean streams?',
});

describe('status of several accounts', () => {
  const engine = makeEngine({
    acme: makeStatus(),
    globex: makeStatus({ streams: [makeStatusRow(), failed] }),
    hooli: makeStatus(never),
    initech: typo,
    umbrella: makeStatus({ streams: [makeStatusRow({ fullRefreshDue: 'one row is missing' })] }),
  });

  it('is a line an account, the worst first, and what could not be read', async () => {
    const { stdout, exitCode } = await run(['status'], { engine });
    expect(exitCode).toBe(0);
    expect(stdout).toBe(
      [
        'ACCOUNT   HEALTH        STREAMS            ROWS  OLDEST VERIFIED  LAST RUN',
        'globex    failed        1 of 2 verified  24,800  3 h ago          complete, 3 h ago',
        'initech   not readable  -                     -  -                -',
        'hooli     never synced  0 of 1 verified       -  never            none',
        'umbrella  differs       0 of 1 verified  12,400  3 h ago          complete, 3 h ago',
        'acme      verified      2 of 2 verified  24,800  5 h ago          complete, 3 h ago',
        '',
        'initech: accounts.initech.streems: is not a setting',
        '  next: Did you mean streams?',
        '',
        'One account: sluice status --accounts globex',
        '',
      ].join('\n'),
    );
  });

  it('shows the pages of those that were named', async () => {
    const { stdout, calls } = await run(['status', '--accounts', 'acme,init*'], { engine });
    expect(stdout).toMatch(/^ACCOUNT .*\ninitech .*\nacme .*\n\ninitech: accounts/);
    expect(stdout).toMatch(/\n\nacme:\nSTREAM +VERDICT.*\nprompts_analytics +verified/);
    expect(stdout).not.toContain('One account:');
    expect(stdout).not.toContain('globex');
    expect(calls.filter(({ name }) => name === 'readStatus')).toHaveLength(1);
  });

  it('names the status of the fleet where one syncs the accounts', async () => {
    const words = 'The runs of the fleet: sluice fleet status';
    const known = makeKnownAccounts(['acme'], { fleet: { database: 'postgres://db/fleet' } });
    const own = makeEngine({ acme: makeStatus() });
    expect((await run(['status'], { engine: own })).stdout).not.toContain(words);
    const ofFleet = { ...own, listAccounts: () => Promise.resolve(known) };
    expect((await run(['status'], { engine: ofFleet })).stdout).toContain(words);
  });

  it('gives programs the whole status of each, in the same order', async () => {
    const { stdout } = await run(['status', '--json'], { engine });
    const { ok, summary, result } = JSON.parse(stdout) as {
      readonly ok: boolean;
      readonly summary: string;
      readonly result: { readonly accounts: readonly Record<string, unknown>[] };
    };
    expect({ ok, summary }).toEqual({ ok: true, summary: '2 of 5 accounts need attention' });
    expect(result.accounts.map(({ account }) => account)).toEqual([
      'globex',
      'initech',
      'hooli',
      'umbrella',
      'acme',
    ]);
    expect(result.accounts[0]).toMatchObject({
      ok: true,
      health: 'failed',
      status: { duckdbPath: '/data/warehouse.duckdb' },
      error: null,
    });
    expect(result.accounts[1]).toMatchObject({
      ok: false,
      status: null,
      error: { code: 'config_invalid', hint: 'Did you mean streams?' },
    });
  });

  it('fails as one account does if nothing could be read', async () => {
    const { exitCode, stdout } = await run(['status', '--json', '--accounts', 'initech'], { engine });
    expect(exitCode).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      error: { code: 'config_invalid', message: 'initech: accounts.initech.streems: is not a setting' },
    });
    const shown = await run(['status', '--accounts', 'initech'], { engine });
    expect(shown.exitCode).toBe(2);
    expect(shown.stdout).toContain('  next: Did you mean streams?');
  });

  it('looks again with --watch while one of them is being synced', async () => {
    let looks = 0;
    const running = makeStatus({ lastRun: makeRunReport({ status: 'running', startedAt: ago(0.5) }) });
    const watched: Partial<Engine> = {
      ...engine,
      readStatus: (settings) => {
        const isAcme = settings.stateDir === 'acme';
        if (isAcme) looks += 1;
        return isAcme && looks < 3 ? Promise.resolve(running) : Promise.resolve(makeStatus());
      },
    };
    const slept: number[] = [];
    const clock = { ...stoppedClock, sleep: (ms: number) => Promise.resolve(void slept.push(ms)) };
    const { stdout, exitCode } = await run(['status', '--watch', '--accounts', 'acme,globex'], {
      engine: watched,
      clock,
      columns: 120,
    });
    expect({ exitCode, slept, looks }).toEqual({ exitCode: 0, slept: [2_000, 2_000], looks: 3 });
    expect(stdout.split('\u001b[H\u001b[2J')).toHaveLength(3);
    expect(stdout).toContain('running for 30 min');
  });

  it('opens a few at once, and reads the last attempts from the runs', async () => {
    const names = Array.from({ length: 40 }, (_, at) => `client${at}`);
    const gone = makeStreamReport({ stream: 'prompts_analytics', status: 'unavailable', mode: 'full' });
    const status = makeStatus({
      streams: [makeStatusRow({ verdict: undefined, verifiedAt: undefined, rows: undefined })],
      lastRun: makeRunReport({ startedAt: ago(3), streams: [gone] }),
    });
    const many = makeEngine(Object.fromEntries(names.map((name) => [name, status])));
    let open = 0;
    let most = 0;
    const readStatus = async () => {
      most = Math.max(most, ++open);
      await new Promise(setImmediate);
      open -= 1;
      return status;
    };
    const { stdout } = await run(['status'], { engine: { ...many, readStatus } });
    expect(most).toBe(4);
    expect(stdout.match(/^client\d+ +not offered +none/gm)).toHaveLength(40);
  });
});

describe('what is left of accounts that the config no longer has', () => {
  it('is named, with the commands that list and delete it', async () => {
    const leftovers = Array.from({ length: 12 }, (_, at) => ({
      account: `old${at}`,
      places: [
        { kind: 'duckdb', path: `/data/accounts/old${at}.duckdb` },
        { kind: 'stateDir', path: `/data/.sluice/old${at}` },
      ],
    }));
    const engine = { ...makeEngine({ acme: makeStatus() }), findLeftovers: () => Promise.resolve(leftovers) };
    const { stdout: text } = await run(['status'], { engine });
    expect(text).toContain(
      'old0 is no longer in the config: /data/accounts/old0.duckdb, /data/.sluice/old0\nold1 is',
    );
    const { stdout: json } = await run(['status', '--json'], { engine });
    expect(JSON.parse(json)).toMatchObject({ result: { leftovers } });
    expect((await run(['status', '--accounts', 'acme'], { engine })).stdout).not.toContain('old0');
    expect(text).toMatch(
      /and 2 more\n {2}next: keep it, or delete it with sluice accounts remove old0 --data/,
    );
  });
});

describe('the files with the data of all accounts', () => {
  const faults = [{ path: '/data/all.duckdb', detail: '/data/all.duckdb is missing', fix: 'Sync.' }];
  const engine = { ...makeEngine({ acme: makeStatus() }), findJointFaults: () => Promise.resolve(faults) };

  it('are named where something is wrong with them, unless some accounts were asked for', async () => {
    expect((await run(['status'], { engine })).stdout).toContain(
      '/data/all.duckdb is missing\n  next: Sync.',
    );
    expect(JSON.parse((await run(['status', '--json'], { engine })).stdout)).toMatchObject({
      result: { faults },
    });
    expect((await run(['status', '--accounts', 'acme'], { engine })).stdout).not.toContain('/data/all');
  });
});
