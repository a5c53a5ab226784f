import { markRecord, varyData } from './accounts.ts';
import type { Endpoint } from './answer.ts';
import type { Credential } from './credentials.ts';
import { createDataset, DEMO_SIZES } from './dataset.ts';
import { createRecordTable } from './endpoint.ts';
import type { EndpointOptions } from './endpoint.ts';
import { addDays, readDayNumber } from './iso-day.ts';
import { createRateLimiter, DOCUMENTED_LIMITS } from './rate-limiter.ts';
import type { RateLimiter } from './rate-limiter.ts';
import type { SimulatorOptions } from './simulator-options.ts';

/** The day that the data ends with when none is named. */
export const DEFAULT_DAY = '2026-01-31';

/** Those who have limits and records in common: an account's, or everybody's. */
export interface Client {
  /** Undefined for everybody. */
  readonly account: string | undefined;
  readonly limiter: RateLimiter;
  readonly endpoints: ReadonlyMap<string, Endpoint>;
}

/** Who the service knows. */
export interface Clients {
  /** The accounts; everybody as one without them. */
  readonly all: readonly Client[];
  /** Whose key it is; one without records for an unknown key. */
  find(credential: Credential): Client;
}

/** Sets up the records and limits of each account; of everybody where there are none. */
export function openClients(options: SimulatorOptions): Clients {
  const limits = { ...DOCUMENTED_LIMITS, ...options.rateLimit };
  const limiter = createRateLimiter(limits);
  if (options.accounts === undefined) {
    const everybody = { account: undefined, limiter, endpoints: openEndpoints(options, undefined) };
    return { all: [everybody], find: () => everybody };
  }
  const nobody = { account: undefined, limiter, endpoints: new Map<string, Endpoint>() };
  const byKey = new Map(
    options.accounts.map(({ name, key, rateLimit }): [string, Client] => [
      key,
      {
        account: name,
        limiter: createRateLimiter({ ...limits, ...rateLimit }),
        endpoints: openEndpoints(options, name),
      },
    ]),
  );
  return {
    all: [...byKey.values()],
    find: ({ kind, value }) => (kind === 'key' ? byKey.get(value) : undefined) ?? nobody,
  };
}

function openEndpoints(options: SimulatorOptions, account: string | undefined): Client['endpoints'] {
  const builtIns = options.builtIns === false ? {} : createBuiltIns(options, account);
  const mentions = builtIns['visibility/mentions'];
  const all: Record<string, EndpointOptions> = {
    ...builtIns,
    ...(options.requireEntity &&
      mentions && { 'visibility/mentions': { ...mentions, requiredParams: ['entity'] } }),
    ...options.endpoints,
  };
  const mark = account === undefined ? undefined : (record: unknown) => markRecord(record, account);
  return new Map(
    Object.entries(all).map(([path, endpoint]) => [
      path,
      { options: endpoint, table: createRecordTable(reshapeRecords(options, path, endpoint.records), mark) },
    ]),
  );
}

function createBuiltIns(
  { day = DEFAULT_DAY, seed = 1, ...options }: SimulatorOptions,
  account: string | undefined,
) {
  const usual = { seed, sizes: { ...DEMO_SIZES, ...options.sizes } };
  const made = account === undefined ? usual : varyData(usual, account);
  const shiftDays = options.dates === 'relative' ? readDayNumber(day) - readDayNumber(DEFAULT_DAY) : 0;
  const firstDay =
    options.history === 'slides' ? undefined : addDays(day, 1 - made.sizes.historyDays - shiftDays);
  return createDataset({ ...made, firstDay, shiftDays });
}

function reshapeRecords(
  options: SimulatorOptions,
  path: string,
  records: EndpointOptions['records'],
): EndpointOptions['records'] {
  const reshape = options.reshape?.[path];
  if (reshape === undefined) return records;
  const firstDay = readDayNumber(options.day ?? DEFAULT_DAY);
  return (day) => {
    const list = records(day);
    const all = Array.from({ length: list.length }, (_, index) => list.at(index));
    return reshape(all, readDayNumber(day) - firstDay);
  };
}
