import type { FleetChange, FleetRepair } from '../model/fleet-report.ts';
import { formatCount, formatCountOf } from '../text/format-count.ts';
import { toSafeLine } from './safe-text.ts';

/** What making a fleet came to. */
interface MadeFleet {
  readonly database: string;
  readonly before: number;
  readonly version: number;
  readonly added: number;
  readonly store: string;
}

/** What was made, for people. */
export function renderFleetInit(made: MadeFleet, accounts: number): string {
  const { database, before, version, added, store } = made;
  const tables =
    before === 0
      ? 'The tables and the queue were made'
      : before === version
        ? 'The tables and the queue are current'
        : `The tables were brought from version ${before} to ${version}`;
  return [
    `${tables} in ${database}. The store ${store} answers.`,
    `${formatCountOf(accounts, 'account')} in the config${describeAdded(added, accounts)}.`,
    'Next: sluice fleet worker, on as many machines as you like; then sluice fleet status --watch',
  ].join('\n');
}

function describeAdded(added: number, accounts: number): string {
  if (added === 0) return ', all of them known already';
  return added === accounts
    ? ', all of them new and due at once'
    : `, ${formatCount(added)} of them new and due at once`;
}

const OUTCOMES: Readonly<Record<FleetChange['outcome'], string>> = {
  queued: 'is due now; the next free lane takes it',
  running: 'is at work already',
  paused: 'is paused',
  'paused already': 'was paused already',
  resumed: 'is resumed',
  'not paused': 'was not paused',
  'still paused': 'is paused and stays so: sluice fleet resume begins its runs again',
  freed: 'is free: what its worker still does is refused',
  'not held': 'was not held by a worker',
};

/** What changed, a line an account. */
export function renderFleetChanges(changes: readonly FleetChange[]): string {
  return changes
    .map(({ account, outcome, worker }) => {
      const who = worker === undefined ? '' : ` (${toSafeLine(worker)})`;
      if (outcome === 'paused' && worker !== undefined)
        return `${account} is paused: its run on ${toSafeLine(worker)} goes on to its end, and none begins after it`;
      return `${account} ${OUTCOMES[outcome]}${who}`;
    })
    .join('\n');
}

/** One sentence about changes. */
export function summarizeFleetChanges(changes: readonly FleetChange[]): string {
  const [only] = changes;
  if (only !== undefined && changes.length === 1) return `${only.account} ${OUTCOMES[only.outcome]}`;
  const counts = Map.groupBy(changes, ({ outcome }) => outcome);
  return [...counts].map(([outcome, all]) => `${formatCount(all.length)} ${outcome}`).join(', ');
}

/** What a repair found and did. */
export function renderFleetRepair(repair: FleetRepair): string {
  const { orphans, isRemoved, isForgotten, account } = repair;
  const found =
    orphans.length === 0
      ? 'The store has no leftovers of it.'
      : `${isRemoved ? 'Deleted from the store' : 'In the store, and no longer needed'}:\n${orphans
          .map((name) => `  ${toSafeLine(name)}`)
          .join('\n')}${isRemoved ? '' : `\n  next: sluice fleet repair ${account} --remove-orphans`}`;
  const forgotten = isForgotten
    ? ['Its state was forgotten: the next run restores it from a destination, or begins again.']
    : [];
  return [renderFleetChanges([repair]), ...forgotten, found].join('\n');
}
