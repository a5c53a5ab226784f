import { join } from 'node:path';
import { lockDestinations } from '../../state/destination-lock.ts';
import { lockStateFolder } from '../../state/lock.ts';
import { createLeaseServer } from '../support/lease.ts';
import { makeTempFolder } from '../support/temp-folder.ts';
import { describeStateLock } from './state-lock-conformance.ts';

const SINCE = '2026-01-31T12:00:00.000Z';

describeStateLock('the lock of a state folder', () => {
  const folder = join(makeTempFolder(), 'state');
  return { take: () => lockStateFolder(folder, SINCE) };
});

describeStateLock('the lock of destinations', () => {
  const folder = makeTempFolder();
  const targets = [join(folder, 'new', 'w.duckdb'), join(folder, 'lake')];
  return { take: () => lockDestinations(targets.map((target) => ({ target }))) };
});

// Shows that the interface can be kept by what is not on this machine.
describeStateLock('a lease', () => {
  const leases = createLeaseServer();
  return {
    take: () => leases.take('state', SINCE),
    lose: () => {
      leases.lose('state');
    },
  };
});
