import { describe, expect, it } from 'vitest';
import type { CleanRun } from '../../src/model/fleet-report.ts';
import { renderFleetReport } from '../../src/report/render-fleet-report.ts';
import {
  makeFailedAccount,
  makeFleetAccount,
  makeFleetStatus,
  makeFleetWorker,
} from '../support/fleet-status.ts';
import { listTexts, parseHtml } from './parse-html.ts';

const clean: CleanRun = {
  runId: 'run-1',
  startedAt: '2026-11-25T05:00:00.000Z',
  requests: 22,
  streams: [
    { stream: 'a', slice: '', status: 'complete', verdict: 'verified', rowsInTable: 1_200 },
    { stream: 'b', slice: '', status: 'fresh', verdict: undefined, rowsInTable: 300 },
    { stream: 'c', slice: '', status: 'complete', verdict: 'drifted', rowsInTable: undefined },
    { stream: 'd', slice: '', status: 'unavailable', verdict: undefined, rowsInTable: undefined },
  ],
};

function render(status = makeFleetStatus([makeFleetAccount('acme')])) {
  const { html, summary } = renderFleetReport({
    status,
    cleanRuns: new Map([['acme', clean]]),
    version: '9.9.9',
  });
  return { html, summary, elements: parseHtml(html), text: listTexts(html) };
}

describe('the HTML report of a fleet', () => {
  it('is whole, and asks for nothing', () => {
    const { elements } = render();
    const outside = elements.flatMap(({ attributes: { href = '', src = '' } }) => [href, src]);
    expect(outside.filter((link) => !/^(?:|#.*|data:,)$/.test(link))).toEqual([]);
    expect(elements.filter(({ tag }) => tag === 'script')).toEqual([]);
    const ids = elements.flatMap(({ attributes }) => attributes['id'] ?? []);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('shows verdicts and rows of the last complete run of each account', () => {
    const { text, summary } = render();
    expect(text).toMatch(/acme complete 1 h beforescheduled in 1 h1 h before2 of 3 1 drifted1,500/);
    expect(summary).toMatchObject({ headline: 'The account is complete', tone: 'good', failed: [] });
  });

  it('begins with what failed, and says once what accounts have in common', () => {
    const failed = Array.from({ length: 12 }, (_, at) => makeFailedAccount(`client-${at + 10}`));
    const { text, summary, elements } = render(makeFleetStatus([makeFleetAccount('acme'), ...failed]));
    expect(summary).toMatchObject({ headline: '12 of 13 accounts failed', tone: 'bad' });
    expect(text).toMatch(/client-10, client-11, .*client-19 and 2 more: the store is away Start it\./);
    const links = elements.flatMap(({ attributes: { href = '' } }) =>
      href.startsWith('#') ? href.slice(1) : [],
    );
    const ids = elements.flatMap(({ attributes }) => attributes['id'] ?? []);
    // Shapes of badges are referred to as well.
    expect(links.filter((link) => !ids.includes(link))).toEqual([]);
  });

  it('has workers and runs of the last day, or says that there are none', () => {
    const busy = makeFleetStatus([makeFleetAccount('acme', { isPaused: true, isInConfig: false })], {
      workers: [makeFleetWorker('host-1-1-ab'), makeFleetWorker('host-2-1-ab', { state: 'gone' })],
      lastDay: {
        runs: 3,
        byExitCode: { '0': 2, lost: 1 },
        requests: 9,
        rateLimited: 0,
        rowsRead: 8,
        rowsChanged: 7,
      },
    });
    const { text } = render(busy);
    expect(text).toContain('host-2-1-ab gone');
    expect(text).toContain('lost their worker went away1');
    expect(text).toContain('in 1 h, then paused, not in the config');
    const nothing = render(makeFleetStatus([])).text;
    expect(nothing).toContain('No account yet');
    expect(nothing).toContain('No worker was here within a day.');
    expect(nothing).toContain('No run ended within a day.');
  });

  it('escapes what a server or a host name says', () => {
    const hostile = '</bdi><script>alert(1)</script>';
    const { html } = render(
      makeFleetStatus([makeFailedAccount('acme', hostile)], { workers: [makeFleetWorker(hostile)] }),
    );
    expect(html).not.toContain('<script>');
  });
});
