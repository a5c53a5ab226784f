import { ACCOUNT_NAME, accountNameMessage } from '../model/account.ts';
import type { SimulatedKey } from './credentials.ts';
import type { DatasetSizes } from './dataset.ts';
import { fractionOf, hashOf } from './random.ts';
import type { RateLimits } from './rate-limiter.ts';

/** One of several customers of the service: it has a key, a quota and records of its own. */
export interface SimulatedAccount {
  /** As in the `accounts` of a config. Each record of the account has it in its field `workspace`. */
  readonly name: string;
  readonly key: string;
  /** Whether its key is answered 401 from the start. */
  readonly revoked?: boolean;
  /** Limits in which it differs from the others. */
  readonly rateLimit?: Partial<RateLimits>;
}

/** The field that says whose a record is. */
export const ACCOUNT_FIELD = 'workspace';

const SMALLEST_SHARE = 0.5;

/** The keys of the accounts; throws a RangeError where two accounts could be taken for each other. */
export function listAccountKeys(accounts: readonly SimulatedAccount[]): readonly SimulatedKey[] {
  const wrong = accounts.find(({ name }) => !ACCOUNT_NAME.test(name));
  if (wrong !== undefined) throw new RangeError(accountNameMessage(wrong.name));
  assertDistinct(accounts, 'name');
  assertDistinct(accounts, 'key');
  return accounts.map(({ key, revoked }) => ({ key, state: revoked === true ? 'revoked' : 'active' }));
}

function assertDistinct(accounts: readonly SimulatedAccount[], member: 'name' | 'key'): void {
  if (new Set(accounts.map((account) => account[member])).size < accounts.length)
    throw new RangeError(`two accounts of the simulator have the same ${member}`);
}

/** What an account's records are made from: other values, and from half to all of the usual number. */
export function varyData(
  { seed, sizes }: { readonly seed: number; readonly sizes: DatasetSizes },
  account: string,
): { readonly seed: number; readonly sizes: DatasetSizes } {
  const share = (size: keyof DatasetSizes) =>
    Math.ceil(sizes[size] * (SMALLEST_SHARE + (1 - SMALLEST_SHARE) * fractionOf(seed, account, size)));
  return {
    seed: hashOf(seed, 'account', account),
    sizes: {
      historyDays: sizes.historyDays,
      prompts: share('prompts'),
      mentionsPerDay: share('mentionsPerDay'),
      categories: share('categories'),
      productsPerCategory: share('productsPerCategory'),
      ranksPerRegion: share('ranksPerRegion'),
    },
  };
}

/** A record with the account's name as its first member; one that is given as text stays as it is. */
export function markRecord(record: unknown, account: string): unknown {
  const isPlain = typeof record === 'object' && record !== null && record.constructor === Object;
  return isPlain ? { [ACCOUNT_FIELD]: account, ...record } : record;
}
