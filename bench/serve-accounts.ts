import { startSimulatorServer } from '../src/simulator/server.ts';
import { createSimulator } from '../src/simulator/simulator.ts';
import type { EndpointOptions } from '../src/simulator/endpoint.ts';
import { makeRecord } from './records.ts';
import { keyOfAccount, nameAccount } from './support/account-projects.ts';

// A process of its own, so that making pages costs the measured process nothing.
// Usage: serve-accounts.ts ACCOUNTS ROWS. A message is answered with the requests since the last one.
const [accounts = 1, rows = 500] = process.argv.slice(2).map(Number);
const DAY = '2026-01-31';
const DAYS = 30;

const records = Array.from({ length: rows }, (_, id) => {
  const day = new Date(Date.parse(DAY) - ((rows - 1 - id) % DAYS) * 86_400_000).toISOString().slice(0, 10);
  return JSON.parse(makeRecord(id, 0, day)) as unknown;
});
const serve = (paginated: boolean): EndpointOptions => ({
  paginated,
  records: () => records,
  dateField: 'date',
});
const simulator = createSimulator({
  day: DAY,
  builtIns: false,
  endpoints: {
    'visibility/mentions': serve(false),
    'prompts/analytics': serve(true),
    'commerce/category-products': serve(true),
    'commerce/top-products': serve(true),
  },
  accounts: Array.from({ length: accounts }, (_, index) => {
    const name = nameAccount(index);
    return { name, key: keyOfAccount(name) };
  }),
  rateLimit: { requestsPerHour: 600, burstPerSecond: 10 },
});

const server = await startSimulatorServer(simulator, { gzip: false, keepAliveTimeoutMs: 60_000 });
process.stdout.write(`${server.port}\n`);
let before = { requests: 0, rateLimited: 0 };
process.on('message', () => {
  const { requests, rateLimited } = simulator.arrivals;
  process.send?.({
    requests: requests - before.requests,
    rateLimited: rateLimited - before.rateLimited,
  });
  before = { requests, rateLimited };
});
process.on('disconnect', () => process.exit(0));
