import { describe, expect, it } from 'vitest';
import { renderFleetMetrics } from '../../src/metrics/render-fleet-metrics.ts';
import { listBlocks, listCode, listTableRows, readSection } from '../docs/markdown.ts';
import {
  makeFailedAccount,
  makeFleetAccount,
  makeFleetStatus,
  makeFleetWorker,
  secondsAgo,
} from '../support/fleet-status.ts';
import { parseMetrics } from './parse-metrics.ts';

const status = makeFleetStatus(
  [
    makeFleetAccount('acme'),
    makeFailedAccount('globex'),
    makeFleetAccount('hooli', { state: 'due', nextAt: secondsAgo(90), lastCleanAt: undefined }),
    makeFleetAccount('initech', { state: 'due', nextAt: secondsAgo(30) }),
  ],
  {
    workers: [
      makeFleetWorker('one'),
      makeFleetWorker('two', { running: 4 }),
      makeFleetWorker('old', { state: 'gone' }),
    ],
    lastDay: {
      runs: 9,
      byExitCode: { '75': 6, lost: 3 },
      requests: 180,
      rateLimited: 1,
      rowsRead: 500,
      rowsChanged: 20,
    },
  },
);

async function read(withoutAccounts = false, of = status) {
  const families = parseMetrics(await renderFleetMetrics(of, { withoutAccounts }));
  return new Map(
    families.map(({ name, samples }) => [
      name.replace('sluice_fleet_', ''),
      Object.fromEntries(samples.map(({ labels, value }) => [Object.values(labels).join(), value])),
    ]),
  );
}

describe('the metrics of a fleet', () => {
  it('count accounts, runs, workers and lanes', async () => {
    const found = await read();
    expect(found.get('accounts')).toEqual({
      ...{ running: 0, lost: 0, due: 2, deferred: 0, retrying: 1, scheduled: 1, idle: 0, paused: 0 },
    });
    expect(found.get('accounts_failed')).toEqual({ '': 1 });
    expect(found.get('oldest_due_seconds')).toEqual({ '': 90 });
    expect(found.get('runs_last_day')).toEqual({ '0': 0, '75': 6, lost: 3 });
    expect(found.get('requests_last_day')).toEqual({ '': 180 });
    expect(found.get('rate_limited_last_day')).toEqual({ '': 1 });
    expect(found.get('rows_changed_last_day')).toEqual({ '': 20 });
    expect(found.get('workers')).toEqual({ working: 2, stopped: 0, gone: 1 });
    expect(found.get('lanes')).toEqual({ '': 8 });
    expect(found.get('lanes_busy')).toEqual({ '': 6 });
  });

  it('say how old the last clean run of each account is, unless that is left out', async () => {
    expect((await read()).get('account_clean_age_seconds')).toEqual({
      acme: 3_600,
      globex: 3_600,
      initech: 3_600,
    });
    expect((await read(true)).has('account_clean_age_seconds')).toBe(false);
  });

  it('are 0 for a fleet in which nothing happened', async () => {
    const found = await read(false, makeFleetStatus([]));
    expect(found.get('oldest_due_seconds')).toEqual({ '': 0 });
    expect(found.get('lanes')).toEqual({ '': 0 });
    expect(found.get('workers')).toEqual({ working: 0, stopped: 0, gone: 0 });
  });

  it('are in the table of docs/fleet.md, all of them, and its alerts use no others', async () => {
    const names = [...(await read()).keys()].map((name) => `sluice_fleet_${name}`);
    const documented = listTableRows(readSection('docs/fleet.md', '## Monitoring')).map(
      ([first = '']) => listCode(first)[0],
    );
    expect(documented.toSorted()).toEqual(names.toSorted());
    const [alerts] = listBlocks('docs/fleet.md', 'prometheus');
    const used = alerts?.text.match(/sluice_fleet_\w+/g) ?? [];
    expect(used.length).toBeGreaterThan(3);
    expect(used.filter((name) => !names.includes(name))).toEqual([]);
  });
});
