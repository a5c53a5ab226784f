import type { Lease } from '../model/state-lock.ts';

/** What names of a lease's holder end with, e.g. `t42`; undefined without a lease. */
export function markHolder(lease: Lease | undefined): string | undefined {
  return lease === undefined ? undefined : `t${lease.token}`;
}

/** A pattern of that, for names. */
export const HOLDER = 't\\d+';

/**
 * Whether a temporary name is of a later holder of the lease: its run is at work, and who comes late must leave it alone.
 * False for names without a holder.
 */
export function isOfLaterHolder(name: string, lease: Lease | undefined): boolean {
  const token = /[.-]t(\d+)(?=[.-]|$)/.exec(name)?.[1];
  return lease !== undefined && token !== undefined && Number(token) > lease.token;
}
