import { hashKey, openQuotaLedger } from '../../state/quota-ledger.ts';
import { createApiClient } from '../http/client.ts';
import { Quota } from '../http/quota.ts';
import { createLazyTransport } from '../http/lazy-transport.ts';
import type { Clock } from '../model/clock.ts';
import { configDefaults } from '../model/config.ts';
import type { Transport } from '../model/http.ts';
import type { OnProgress } from '../model/progress.ts';
import type { OpenQuotaStore, QuotaRoom } from '../model/quota.ts';
import type { Settings, SyncOptions } from '../model/settings.ts';
import type { Source } from '../model/source.ts';
import { redact } from '../text/redact.ts';
import { version } from '../model/version.ts';

/** Access to the API: one source with one quota and one ledger. */
export interface OpenedApi {
  readonly source: Source;
  /** What the quota allows now; undefined while that is unknown. */
  readRoom(): Promise<QuotaRoom | undefined>;
  /** Why other processes do not see this one's requests, if they do not. */
  readonly warning: string | undefined;
  close(): Promise<void>;
}

export interface ApiOptions extends Pick<SyncOptions, 'maxWaitMs' | 'deadlineMs' | 'maxRequests'> {
  readonly transport?: Transport | undefined;
  readonly random?: (() => number) | undefined;
  /** Opens where the quota is kept if it is not a ledger of this machine. */
  readonly openQuotaStore?: OpenQuotaStore | undefined;
  /** Attempts per request; 1 for commands that promise one request per stream. */
  readonly maxTries?: number | undefined;
  /** Ends at a spent quota instead of waiting, for commands without `--max-wait`. */
  readonly neverWaits?: boolean | undefined;
}

export interface ApiEffects {
  readonly clock: Clock;
  readonly emit: OnProgress;
}

/** Opens the quota's store, the quota and the connections of one command; no request leaves yet. */
export async function openApi(
  settings: Settings,
  options: ApiOptions,
  { clock, emit }: ApiEffects,
): Promise<OpenedApi> {
  const { connector, credentials, baseUrl, quotaLimits, ledgerDir } = settings;
  const openQuotaStore = options.openQuotaStore ?? openQuotaLedger;
  const store = openQuotaStore({ dir: ledgerDir, keyHash: hashKey(credentials.secret, baseUrl) });
  const quota = new Quota({
    store,
    limits: quotaLimits,
    clock,
    maxWaitMs: options.maxWaitMs ?? configDefaults.maxWaitMs,
    neverWaits: options.neverWaits ?? false,
    ...(options.deadlineMs === undefined ? {} : { deadlineMs: clock.monotonic() + options.deadlineMs }),
    ...(options.maxRequests === undefined ? {} : { maxRequests: options.maxRequests }),
    listener: {
      onWait: (reason, untilMs) => emit({ type: 'waiting', reason, untilMs }),
      onResume: () => emit({ type: 'resumed' }),
      onObserved: ({ limit, remaining, resetAtMs }) => {
        if (limit === undefined || remaining === undefined || resetAtMs === undefined) return;
        emit({ type: 'quota', limit, remaining, resetAtMs, windowMs: quotaLimits.windowMs });
      },
    },
  });
  // What earlier runs learned counts from the first decision on.
  await quota.snapshot();
  const transport =
    options.transport ??
    createLazyTransport(async () => {
      const { createUndiciTransport } = await import('../http/undici-transport.ts');
      return createUndiciTransport({ baseUrl, userAgent: `sluice/${version}` });
    });
  const hidePath = rememberLast((path: string) => redact(path, [credentials.secret]));
  const client = createApiClient({
    connector,
    credentials,
    quota,
    transport,
    clock,
    random: options.random ?? Math.random,
    ...(options.maxTries === undefined ? {} : { maxTries: options.maxTries }),
    onWarning: (message) => emit({ type: 'warning', message }),
    onRequest: (sent) => emit({ type: 'request-ended', ...sent, path: hidePath(sent.path) }),
  });
  return {
    source: {
      name: connector.name,
      connector,
      baseUrl,
      client,
      showsKey: (text) => redact(text, [credentials.secret]) !== text,
      readQuota: () => quota.snapshot(),
      seenQuota: () => quota.seen(),
    },
    readRoom: () => quota.room(),
    // A ledger can also fail later, when its disk fills up.
    get warning() {
      return store.warning;
    },
    async close() {
      try {
        await client.close();
      } finally {
        await store.close();
      }
    },
  };
}

/** The same function, which is not called again for what it was given last: a stream has one path for all its pages. */
function rememberLast(change: (text: string) => string): (text: string) => string {
  let last: { readonly given: string; readonly changed: string } | undefined;
  return (given) => {
    if (last?.given !== given) last = { given, changed: change(given) };
    return last.changed;
  };
}
