import type { ChangeReader } from '../../commands/clients/read-changes.ts';
import type { ClientStream } from '../../model/client-stream.ts';
import type { Clock } from '../../model/clock.ts';
import type { ConfigInput } from '../../model/config.ts';
import type { OfflineSettings, Settings } from '../../model/settings.ts';

/** What the commands call that speak the words of other ecosystems. */
export interface ClientEngine {
  /** Settings of a config that is not in a file. */
  resolveConfig(
    config: ConfigInput,
    request: { readonly env: NodeJS.ProcessEnv; readonly nowMs: number },
  ): Promise<Settings>;
  /** The published streams; of these names, if there are some. */
  listStreams(settings: OfflineSettings, names?: readonly string[]): Promise<readonly ClientStream[]>;
  /** Reads what changed in them since a client read last. */
  withChanges<T>(
    settings: OfflineSettings,
    effects: { readonly clock: Clock },
    read: (reader: ChangeReader) => Promise<T>,
  ): Promise<T>;
}
