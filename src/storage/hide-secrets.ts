import { ConfigError } from '../model/errors.ts';
import { listDestinationSecrets } from '../model/destination-secrets.ts';
import { listWebhookSecrets } from '../model/notify.ts';
import { redactDeep } from '../text/redact.ts';
import type { Settings } from '../model/settings.ts';

/**
 * Hides the key and webhook addresses in plain values that leave a command: reports, events, and the files that store
 * them. The server may echo the key, and errors that quote it need no check of their own.
 */
export function hideSecrets<T>(settings: Settings, value: T): T {
  return redactDeep(value, listSecrets(settings));
}

/** Rejects a run id that contains a secret: ids appear in published files, metrics and logs. */
export function refuseSecretId(settings: Settings, runId: string | undefined): void {
  const isSecret = (secret: string) => secret !== '' && runId?.toLowerCase().includes(secret.toLowerCase());
  if (!listSecrets(settings).some(isSecret)) return;
  throw new ConfigError('the run id has the API key in it, or another secret of the config', {
    code: 'usage_invalid',
    hint: 'Give --run-id (or SLUICE_RUN_ID) the name of a job instead, e.g. nightly-2026-01-31. Nothing was requested, and nothing was written.',
  });
}

function listSecrets({ credentials, hashKey, notify, destinations }: Settings): readonly string[] {
  return [
    credentials.secret,
    ...(hashKey === undefined ? [] : [hashKey]),
    ...listWebhookSecrets(notify),
    ...listDestinationSecrets(destinations),
  ];
}
