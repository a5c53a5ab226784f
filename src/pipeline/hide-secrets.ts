import { listWebhookSecrets } from '../model/notify.ts';
import { redactDeep } from '../model/redact.ts';
import type { Settings } from '../model/settings.ts';

/**
 * Hides the key, and addresses of webhooks, in plain values that leave a command: reports, events, and the files that keep them. Texts of
 * the server may say the key back, and an error that quotes one need not think of it.
 */
export function hideSecrets<T>({ credentials, hashKey, notify }: Settings, value: T): T {
  const secrets = [
    credentials.secret,
    ...(hashKey === undefined ? [] : [hashKey]),
    ...listWebhookSecrets(notify),
  ];
  return redactDeep(value, secrets);
}
