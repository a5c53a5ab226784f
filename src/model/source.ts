import type { Connector } from './connector.ts';
import type { ApiClient } from './http.ts';
import type { QuotaSnapshot } from './quota.ts';

/** Who is asked: an API with one key, and what the key may still ask for. */
export interface Source {
  /** Tells it from the other sources of a run. */
  readonly name: string;
  readonly connector: Connector;
  readonly baseUrl: URL;
  readonly client: ApiClient;
  /** Whether a text has the key in it. */
  showsKey(text: string): boolean;
  /** The quota as it is now, with what other processes used of it. */
  readQuota(): Promise<QuotaSnapshot>;
  /** The same as this process saw it last: exact right after `readQuota`, and cheap enough for each page. */
  seenQuota(): QuotaSnapshot;
}
