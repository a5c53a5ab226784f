import type { Lease } from '../model/state-lock.ts';

/** What names of a lease's holder end with, e.g. `t42`; undefined without a lease. */
export function markHolder(lease: Lease | undefined): string | undefined {
  return lease === undefined ? undefined : `t${lease.token}`;
}

/** A hidden name in a folder, for what is to get the name `name` there: that of each holder is its own. */
export function hideName(name: string, lease: Lease | undefined): string {
  return ['', name, markHolder(lease) ?? [], 'tmp'].flat().join('.');
}

/** Whether `hidden` is a hidden name of `name`, of any holder or without one. */
export function isHiddenName(name: string, hidden: string): boolean {
  const rest = hidden.startsWith(`.${name}.`) ? hidden.slice(name.length + 2) : '';
  return HIDDEN.test(rest);
}

/** A pattern of that, for names. */
export const HOLDER = 't\\d+';

const HIDDEN = new RegExp(`^(?:${HOLDER}\\.)?tmp$`);

/**
 * Whether a temporary name is of a later holder of the lease: its run is at work, and who comes late must leave it alone.
 * False for names without a holder.
 */
export function isOfLaterHolder(name: string, lease: Lease | undefined): boolean {
  const token = /[.-]t(\d+)(?:-folders)?(?:\.empty)?(?:\.tmp)?(?:\.wal)?$/.exec(name)?.[1];
  return lease !== undefined && token !== undefined && Number(token) > lease.token;
}
