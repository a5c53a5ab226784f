import type { Part } from '../support/finding.ts';
import { measureAccounts } from './accounts.ts';
import { measureEndToEnd } from './end-to-end.ts';
import { measureFleet } from './fleet.ts';
import { measureLakeRequests } from './lake-requests.ts';
import { measureLakeYear } from './lake-year.ts';
import { measureLakehouses } from './lakehouses.ts';
import { measureMemory } from './memory.ts';
import { measurePeers } from './peers.ts';
import { measurePublishing } from './publishing.ts';
import { measureQuota } from './quota.ts';
import { measureRestatement } from './restatement.ts';
import { measureStart } from './start.ts';
import { measureYear } from './year.ts';

/** The parts by name, in the order they run. */
export const parts: Readonly<Record<string, Part>> = {
  'end-to-end': measureEndToEnd,
  peers: measurePeers,
  publishing: measurePublishing,
  lakehouses: measureLakehouses,
  'lake-requests': measureLakeRequests,
  'lake-year': measureLakeYear,
  restatement: measureRestatement,
  memory: measureMemory,
  quota: measureQuota,
  accounts: measureAccounts,
  fleet: measureFleet,
  year: measureYear,
  start: measureStart,
};

/** Pages of the parts whose findings are not put into docs/benchmarks.md. */
export const ownPages: Readonly<Record<string, string>> = {
  peers: 'docs/comparison.md',
};
