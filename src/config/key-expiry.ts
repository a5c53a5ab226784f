import type { Connector } from '../model/connector.ts';
import { DAY_MS } from '../model/dates.ts';

const WARN_DAYS = 14;

/** A warning from 14 days before the key expires, so that unattended syncs do not stop by surprise. */
export function findExpiryWarnings(
  keyExpiresAt: string | undefined,
  nowMs: number,
  connector: Connector,
): readonly string[] {
  if (keyExpiresAt === undefined) return [];
  const days = Math.floor(Date.parse(keyExpiresAt) / DAY_MS) - Math.floor(nowMs / DAY_MS);
  if (days > WARN_DAYS) return [];
  const when =
    days < 0
      ? `expired on ${keyExpiresAt}`
      : `expires on ${keyExpiresAt}, ${days === 0 ? 'today' : `in ${days} ${days === 1 ? 'day' : 'days'}`}`;
  return [
    `the key ${when} (source.keyExpiresAt); create a new one in ${connector.auth.whereKeysAreMade} and update the date`,
  ];
}
