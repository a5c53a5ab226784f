import { cpSync, renameSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createRowsFlow, dateOf, type Row } from '../support/rows-api.ts';
import { DAY_MS, HOUR_MS, START_MS, streamOf } from '../support/sync-harness.ts';

// The machine's clock may be set back, or be wrong by years; the API's is right.

const YEARS_MS = 4 * 366 * DAY_MS;
const keyed = { key: ['id'], cursor: { field: 'date', param: 'startDate' } };

/** A machine whose clock may be wrong, in front of an API whose clock is right. */
function createSkewed(stream: Parameters<typeof createRowsFlow>[1] = {}) {
  let wrongByMs = 0;
  let version = 0;
  const today = () => Math.floor((flow.flow.clock.now() - wrongByMs - START_MS) / DAY_MS);
  const flow = createRowsFlow(
    {
      rows: () => {
        const days = Array.from({ length: today() + 6 }, (_, at) => at - 5);
        return days.flatMap((day): readonly Row[] => [
          { id: `${day}/a`, date: dateOf(day), score: day },
          { id: `${day}/b`, date: dateOf(day), score: version },
        ]);
      },
      matches: ({ id }, params) => String(id).endsWith(params.get('part') ?? ''),
      serverNow: () => flow.flow.clock.now() - wrongByMs,
    },
    { ...keyed, ...stream },
  );
  return {
    ...flow,
    /** Sets the machine's clock ahead of the true time by so much. */
    setWrong(ms: number) {
      flow.flow.clock.stepWall(ms - wrongByMs);
      wrongByMs = ms;
    },
    restate: () => void (version += 1),
  };
}

const warned = (report: { readonly warnings: readonly string[] }) => report.warnings.join();

describe('a clock that was years ahead once', () => {
  it('does not switch full refreshes off, nor freshness on, once it is right again', async () => {
    const machine = createSkewed();
    await machine.syncAfter(0);
    machine.setWrong(YEARS_MS);
    const wrong = await machine.syncAfter(0, { fullRefresh: true });
    expect(warned(wrong)).toMatch(
      /^this machine's clock is \d+ d ahead of the API's, where it is 2026-01-31/,
    );
    machine.setWrong(0);
    const right = await machine.syncAfter(0);
    expect(streamOf(right)).toMatchObject({ status: 'complete', mode: 'full' });
    expect(streamOf(await machine.syncAfter(1))).toMatchObject({ status: 'complete', mode: 'incremental' });
  });

  it('leaves no time in the future: runs, rows and versions are corrected, with a warning', async () => {
    const machine = createSkewed({ history: true });
    await machine.syncAfter(0);
    machine.setWrong(YEARS_MS);
    machine.restate();
    await machine.syncAfter(0, { fullRefresh: true });
    machine.setWrong(0);
    machine.restate();
    const report = await machine.syncAfter(1);
    expect(warned(report)).toMatch(/\d+ recorded times after 2026-02-01T12:\S+ were set to now/);
    const nowIso = new Date(machine.flow.clock.now()).toISOString();
    const [later] = await machine.flow.query(`SELECT
      (SELECT count(*) FROM main.items WHERE _synced_at > '${nowIso}') AS rows,
      (SELECT count(*) FROM main.items_history WHERE _valid_from > '${nowIso}' OR _valid_to > '${nowIso}') AS versions,
      (SELECT count(*) FROM _sluice.runs WHERE started_at > '${nowIso}') AS runs`);
    expect(later).toEqual({ rows: 0, versions: 0, runs: 0 });
    const [open] = await machine.flow.query(`SELECT count(*) AS n, count(DISTINCT id) AS ids
      FROM main.items_history WHERE _valid_from <= '${nowIso}' AND (_valid_to > '${nowIso}' OR _valid_to IS NULL)`);
    expect(open).toEqual({ n: 14, ids: 14 });
  });

  it('leaves a file of that time one of its own: put back from a backup, it is replaced', async () => {
    const machine = createSkewed();
    const { duckdbPath } = machine.flow;
    machine.setWrong(YEARS_MS);
    await machine.syncAfter(0);
    cpSync(duckdbPath, `${duckdbPath}.older`);
    machine.setWrong(0);
    expect(warned(await machine.syncAfter(1))).toContain('were set to now');
    renameSync(`${duckdbPath}.older`, duckdbPath);
    expect((await machine.syncAfter(1)).exitCode).toBe(0);
    const [found] = await machine.flow.query('SELECT count(*)::INTEGER AS n FROM main.items');
    expect(found).toEqual({ n: machine.held().length });
  });

  it('stays corrected in a rebuild, for rows that it brings back as well', async () => {
    const machine = createSkewed();
    const { flow } = machine;
    await machine.syncAfter(0);
    machine.setWrong(YEARS_MS);
    machine.restate();
    await machine.syncAfter(0, { fullRefresh: true });
    machine.setWrong(0);
    machine.restate();
    await machine.syncAfter(1);
    await flow.clock.sleep(HOUR_MS);
    const read = 'SELECT * FROM main.items ORDER BY ALL';
    const before = await flow.query(read);
    const rebuilt = await flow.rebuild();
    expect(rebuilt).toMatchObject({ exitCode: 0, streams: [{ scans: 3 }] });
    expect(await flow.query(read)).toEqual(before);
    expect(Date.parse(rebuilt.streams[0]?.to ?? '')).toBeLessThan(flow.clock.now());

    const dated = { ...keyed, key: ['id', 'score'] };
    const config = { streams: { items: { path: 'items', paginated: true, ...dated } } };
    expect(await flow.rebuild({ config })).toMatchObject({ exitCode: 0, streams: [{ rowsBefore: 14 }] });
    const [rows] = await flow.query(
      `SELECT count(*) AS n, count(*) FILTER (WHERE _synced_at > '2026-02-02') AS later FROM main.items`,
    );
    expect(rows).toEqual({ n: 26, later: 0 });
  });

  it('purges nothing that is not old', async () => {
    const machine = createSkewed({ history: true });
    const config = { retention: { runs: '30d', history: '30d', archive: '30d' } };
    await machine.syncAfter(0, { config });
    machine.restate();
    await machine.syncAfter(1, { config });
    machine.setWrong(YEARS_MS);
    machine.restate();
    await machine.syncAfter(1, { config });
    expect(await machine.flow.query('SELECT count(*) AS n FROM _sluice.runs')).toEqual([{ n: 3 }]);
    const [closed] = await machine.flow.query(
      'SELECT count(*) AS n FROM main.items_history WHERE _valid_to IS NOT NULL',
    );
    expect(Number(closed?.['n'])).toBeGreaterThan(8);
    expect((await machine.flow.rebuild()).streams[0]).toMatchObject({ status: 'rebuilt' });
  });
});

describe('what a clock recorded that was ahead', () => {
  const config = {
    streams: {
      later: { path: 'later', paginated: true, ...keyed },
      parts: { path: 'parts', paginated: true, ...keyed, params: { part: ['a', 'b'] }, sliceBy: ['part'] },
    },
  };
  const both = { streams: ['items', 'later'], config };

  it('makes no stream fresh that the run has not read yet', async () => {
    const machine = createSkewed();
    machine.setWrong(10 * DAY_MS);
    await machine.syncAfter(0, both);
    machine.setWrong(0);
    machine.restate();
    const report = await machine.syncAfter(1, both);
    for (const name of ['items', 'later'])
      expect(streamOf(report, name)).toMatchObject({ status: 'complete', mode: 'full' });
    expect(await machine.flow.rows('later')).toEqual(await machine.flow.rows('items'));
    expect(streamOf(await machine.syncAfter(0, both), 'later').status).toBe('fresh');
  });

  it('makes no slice fresh that the run has not read yet', async () => {
    const machine = createSkewed();
    machine.setWrong(10 * DAY_MS);
    await machine.syncAfter(0, { streams: ['parts'], config });
    machine.setWrong(0);
    const report = await machine.syncAfter(1, { streams: ['parts'], config });
    expect(report.streams.map(({ mode }) => mode)).toEqual(['full', 'full']);
  });

  it.each([
    ['days', 10 * DAY_MS, 'full'],
    ['hours', 12 * HOUR_MS, 'incremental'],
  ])('makes a stream that was left out fresh on no later day (%s)', async (_, aheadMs, mode) => {
    const machine = createSkewed();
    machine.setWrong(aheadMs);
    await machine.syncAfter(0, both);
    machine.setWrong(0);
    await machine.syncAfter(0, { streams: ['items'], config });
    machine.flow.clock.stepWall(aheadMs + HOUR_MS / 6);
    machine.restate();
    const report = await machine.syncAfter(0, both);
    expect(streamOf(report, 'later')).toMatchObject({ status: 'complete', mode });
  });

  it('is not written again by a commit that leaves a part of the checkpoint as it was', async () => {
    const machine = createSkewed();
    machine.setWrong(10 * DAY_MS);
    await machine.syncAfter(0);
    machine.setWrong(0);
    await machine.syncAfter(0, { limit: 3 });
    const [held] = await machine.flow.query(
      `SELECT count(*) AS n FROM _sluice.checkpoints WHERE greatest(last_full_scan_at, last_verified_at, whole_at)
         > '2026-02-01'`,
    );
    expect(held).toEqual({ n: 0 });
    machine.flow.clock.stepWall(10 * DAY_MS);
    expect(streamOf(await machine.syncAfter(0))).toMatchObject({ status: 'complete', mode: 'full' });
  });
});

describe('a clock that is set back an hour', () => {
  it('gives no row two versions at one moment, and keeps the order of runs', async () => {
    const machine = createSkewed({ history: true });
    await machine.syncAfter(0);
    for (const ms of [-HOUR_MS, -2 * HOUR_MS]) {
      machine.setWrong(ms);
      machine.restate();
      await machine.syncAfter(0, { force: true });
    }
    const doubled = await machine.flow
      .query(`SELECT a.id FROM main.items_history a JOIN main.items_history b USING (id)
      WHERE a.rowid < b.rowid AND a._valid_from < coalesce(b._valid_to, 'infinity')
        AND b._valid_from < coalesce(a._valid_to, 'infinity')`);
    expect(doubled).toEqual([]);
    const empty = await machine.flow.query(
      'SELECT id FROM main.items_history WHERE _valid_to <= _valid_from',
    );
    expect(empty).toEqual([]);
    const runs = await machine.flow.query('SELECT rows_updated FROM _sluice.runs ORDER BY started_at');
    expect(runs.map((run) => Number(run['rows_updated']) > 0)).toEqual([false, true, true]);
  });

  it('does not keep a stream fresh for longer', async () => {
    const machine = createSkewed();
    await machine.syncAfter(0);
    machine.setWrong(-HOUR_MS);
    const report = await machine.syncAfter(0);
    expect(streamOf(report)).toMatchObject({ status: 'complete', mode: 'incremental' });
    expect(warned(report)).toMatch(/clock is 1 h behind the API's/);
  });

  it('that is less is not worth a word', async () => {
    const machine = createSkewed();
    machine.setWrong(-HOUR_MS / 2);
    expect((await machine.syncAfter(0)).warnings).toEqual([]);
  });
});
