import { join } from 'node:path';
import { expect, it } from 'vitest';
import { appendRunFile, readRunFile } from '../../state/run-file.ts';
import type { RunReport } from '../../src/model/run-report.ts';
import { Database } from '../../src/warehouse/database.ts';
import { createItemsFlow, DAY_MS, type Flow, makeItem, makeItems } from '../support/sync-harness.ts';

/** Takes the end of the last run from its row, as if the process could not write it any more. */
async function openLastRun({ stateDir }: Flow): Promise<void> {
  const database = await Database.open({ file: join(stateDir, 'work.duckdb'), folders: [] });
  await database.run(
    `UPDATE _sluice.runs SET status = 'running', finished_at = NULL, exit_code = NULL
     WHERE started_at = (SELECT max(started_at) FROM _sluice.runs)`,
  );
  await database.checkpoint();
  await database.release();
}

/** Gives the last run another end in the file of runs. */
function endInFile({ stateDir }: Flow, end: Pick<RunReport, 'status' | 'exitCode'>): void {
  const [last] = readRunFile(stateDir);
  if (last === undefined) throw new Error('no run is on record');
  appendRunFile(stateDir, { ...last, ...end });
}

async function readEnds(flow: Flow) {
  const rows = await flow.query(
    `SELECT status || ' ' || coalesce(exit_code::VARCHAR, 'without') AS ending FROM _sluice.runs ORDER BY started_at`,
  );
  return rows.map(({ ending }) => ending);
}

it.each([
  ['was killed', 'running', 'killed without'],
  ['could write its end to the file of runs alone', 'failed', 'failed 6'],
] as const)(
  'corrects the row of a run that %s, where the next run finds nothing new',
  async (_, status, expected) => {
    const flow = createItemsFlow(makeItems(30));
    await flow.sync();
    await openLastRun(flow);
    endInFile(flow, { status, exitCode: 6 });
    const next = await flow.sync();
    expect([next.exitCode, next.rows.inserted]).toEqual([0, 0]);
    expect(await readEnds(flow)).toEqual([expected, 'complete 0']);
    expect((await flow.sync()).exitCode).toBe(0);
    expect(await readEnds(flow)).toEqual([expected, 'complete 0']);
  },
);

it('corrects the end of a run whose publish failed, and records what its streams did once', async () => {
  const flow = createItemsFlow(makeItems(30), { stream: { cursor: false } });
  const { runId } = await flow.sync();
  const changes = `SELECT count(*)::INT AS changes FROM _sluice.schema_changes WHERE run_id = '${runId}'`;
  const before = await flow.query(changes);
  expect(before).not.toEqual([{ changes: 0 }]);
  endInFile(flow, { status: 'failed', exitCode: 6 });
  await flow.clock.sleep(DAY_MS);
  flow.simulator.editRecords('items', (records) => [...records, makeItem(900)]);
  expect((await flow.sync()).rows.inserted).toBe(1);
  expect(await readEnds(flow)).toEqual(['failed 6', 'complete 0']);
  expect(await flow.query(changes)).toEqual(before);
});
