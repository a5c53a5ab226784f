import { redactDeep } from '../model/redact.ts';
import type { Settings } from '../model/settings.ts';

/**
 * Hides the key in plain values that leave a command: reports, events, and the files that keep them. Texts of
 * the server may say the key back, and an error that quotes one need not think of it.
 */
export function hideSecrets<T>({ credentials, hashKey }: Settings, value: T): T {
  return redactDeep(value, [credentials.secret, ...(hashKey === undefined ? [] : [hashKey])]);
}
