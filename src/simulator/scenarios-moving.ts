import { deleteRows, insertRows, rewriteEnvelope } from './fault-effects.ts';
import { beforeRequest, type Fault, type SimulatorControls, when } from './faults.ts';
import { pagedScenario, type Scenario, SCENARIO_PATH as path } from './scenario.ts';

/** Changes the data once, before the fourth page of a scan is answered. */
function onceInScan(change: (controls: SimulatorControls) => void): readonly Fault[] {
  return [beforeRequest(4, change, { path })];
}

/** Changes the data before each request. */
function always(change: (controls: SimulatorControls, turn: number) => void): readonly Fault[] {
  let turn = 0;
  return [
    when({ path }, ({ controls }) => {
      turn += 1;
      change(controls, turn);
      return undefined;
    }),
  ];
}

function makeRow(number: number, model: unknown): object {
  return { ...(model as object), promptId: `pr_${9_000 + number}` };
}

function rotate(records: readonly unknown[], by: number): readonly unknown[] {
  return [...records.slice(by), ...records.slice(0, by)];
}

function restate(record: unknown): object {
  const { mentions, ...rest } = record as { readonly mentions: number };
  return { ...rest, mentions: mentions + 1_000 };
}

/** Data that moves while it is read. */
export const movingScenarios: readonly Scenario[] = [
  pagedScenario({
    name: 'refresh-mid-scan',
    sentence: 'The daily refresh comes while the fourth page is asked for, once.',
    watch: 'The scan restarts and is verified; no row of the day before is left.',
    options: () => ({ faults: onceInScan((service) => service.advanceDay()) }),
  }),
  pagedScenario({
    name: 'rows-inserted',
    sentence: 'A row comes at the head while the fourth page is asked for, once.',
    watch: 'The scan restarts and is verified with the new row.',
    options: () => ({
      faults: onceInScan((service) =>
        service.editRecords(path, (records) => insertRows(0, [makeRow(1, records[0])])(records)),
      ),
    }),
  }),
  pagedScenario({
    name: 'rows-deleted',
    sentence: 'Three rows go from what was read while the fourth page is asked for, once.',
    watch: 'The scan restarts and is verified without them.',
    options: () => ({ faults: onceInScan((service) => service.editRecords(path, deleteRows(10, 3))) }),
  }),
  pagedScenario({
    name: 'rows-moved',
    sentence: 'The first row moves to the end in mid-scan, once: the total stays.',
    watch: 'The page that no longer fits is asked for again with the one before it; the scan restarts.',
    options: () => ({
      faults: onceInScan((service) => service.editRecords(path, (records) => rotate(records, 1))),
    }),
  }),
  pagedScenario({
    name: 'reordered',
    sentence: 'All rows change places in mid-scan, once.',
    watch: 'The scan restarts and is verified.',
    options: () => ({
      faults: onceInScan((service) => service.editRecords(path, (records) => records.toReversed())),
    }),
  }),
  pagedScenario({
    name: 'restated',
    sentence: 'Every row gets another number in mid-scan, once.',
    watch: 'The scan restarts and is verified with the new numbers.',
    options: () => ({
      faults: onceInScan((service) => service.editRecords(path, (records) => records.map(restate))),
    }),
  }),
  pagedScenario({
    name: 'restated-quietly',
    sentence:
      'One row that was read, away from the edges of its page, gets another number in mid-scan, once.',
    watch:
      'The first sync is verified and has the old number: no scan can see this. The next one brings the new.',
    steps: ['sync', 'sync --force'],
    options: () => ({
      faults: onceInScan((service) =>
        service.editRecords(path, (records) => records.with(150, restate(records[150]))),
      ),
    }),
  }),
  pagedScenario({
    name: 'restless',
    sentence: 'A row comes at the head before every single request.',
    watch:
      'Three attempts, then exit code 4: what came is kept by key, nothing is deleted, no watermark moves.',
    options: () => ({
      faults: always((service, turn) =>
        service.editRecords(path, (records) => [makeRow(turn, records[0]), ...records]),
      ),
    }),
  }),
  pagedScenario({
    name: 'unstable-order',
    sentence: 'The order of the rows changes on every request.',
    watch: 'Three attempts, then exit code 4, never rows missing in silence.',
    options: () => ({
      faults: always((service, turn) =>
        service.editRecords(path, (records) => rotate(records, 1 + (turn % 7))),
      ),
    }),
  }),
  pagedScenario({
    name: 'stale-replica',
    sentence: 'One page is answered by a server that is a row behind, once.',
    watch:
      'Two pages are asked for again, the wrong one is replaced, and the scan is verified without a restart.',
    options: () => ({
      faults: [
        when({ path, offset: 297, count: 1 }, () => ({
          page: (page) => ({ ...page, offset: page.offset + 1 }),
        })),
      ],
    }),
  }),
  pagedScenario({
    name: 'total-flickers',
    sentence: 'One page declares a row more than the others, once.',
    watch: 'The scan restarts and is verified.',
    options: () => ({
      faults: [
        when(
          { path, offset: 297, count: 1 },
          rewriteEnvelope(({ data, pagination }) => ({
            data,
            pagination: pagination && { ...pagination, total: pagination.total + 1 },
          })),
        ),
      ],
    }),
  }),
];
