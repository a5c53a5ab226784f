import { ConfigError } from '../src/model/errors.ts';
import type { OfflineSettings } from '../src/model/settings.ts';

/** The source that rows belong to. */
export interface Owner {
  readonly connector: string;
  /** Without a trailing slash. */
  readonly baseUrl: string;
}

type Source = Pick<OfflineSettings, 'connector' | 'baseUrl'>;

/** The source that a config reads. */
export function ownerOf({ connector, baseUrl }: Source): Owner {
  return { connector: connector.name, baseUrl: baseUrl.href.replace(/\/$/, '') };
}

/** The entries of `_sluice.meta` that name the source of a file's rows. */
export function describeOwner(source: Source): readonly (readonly [string, string])[] {
  const { connector, baseUrl } = ownerOf(source);
  return [
    ['connector', connector],
    ['base_url', baseUrl],
  ];
}

/** What the entries of `_sluice.meta` are called in config. */
const WORDS: Readonly<Record<string, string>> = { base_url: 'baseUrl' };

/** Rejects a state with rows of a different source; `meta` is the content of its `_sluice.meta`. */
export function assertIdentity(
  meta: ReadonlyMap<string, string>,
  settings: Source & Pick<OfflineSettings, 'stateDir'>,
  where = `the state in ${settings.stateDir}`,
): void {
  // Before the first commit there is nothing to mix with: a mistyped URL can be corrected.
  if (!meta.has('generation')) return;
  for (const [name, value] of describeOwner(settings)) {
    const held = meta.get(name);
    if (held !== undefined && held !== value) {
      throw new ConfigError(
        `${where} belongs to ${WORDS[name] ?? name} ${held}, but the config says ${value}`,
        {
          code: 'identity_mismatch',
          hint: 'Set another stateDir and destination for this source, or set the old value again. Nothing was requested.',
          context: { path: settings.stateDir },
        },
      );
    }
  }
}
