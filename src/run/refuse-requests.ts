import { BugError } from '../model/errors.ts';
import type { ApiClient } from '../model/http.ts';
import { noQuota } from '../model/quota.ts';
import type { OfflineSettings, Settings } from '../model/settings.ts';
import type { Source } from '../model/source.ts';

const refusingClient: ApiClient = {
  get: () =>
    Promise.reject(
      new BugError('a command that sends no request tried to', { code: 'bug', hint: 'Please report this.' }),
    ),
  usage: { requests: 0, retries: 0, rateLimited: 0, waitedMs: 0 },
  close: () => Promise.resolve(),
};

/** The source of commands that promise to send no request. */
export function refuseRequests({ connector, baseUrl }: OfflineSettings): Source {
  return {
    name: connector.name,
    connector,
    baseUrl,
    client: refusingClient,
    showsKey: () => false,
    readQuota: () => Promise.resolve(noQuota),
    seenQuota: () => noQuota,
  };
}

/** Settings for steps that ask for a key and, with `refuseRequests`, never show it. */
export function withoutKey(settings: OfflineSettings): Settings {
  return { ...settings, credentials: { kind: 'api-key', secret: '' } };
}
