import type { ConfigPath } from './config-path.ts';
import type { Config } from '../model/config.ts';
import type { EngineReach, ExtensionFolder, ObjectStore } from '../model/destination.ts';

export type Refuse = (key: ConfigPath, message: string, hint: string) => never;

/** What the places of a lakehouse depend on. */
export interface LakehouseScope extends ReachScope {
  readonly reach: EngineReach;
}

interface ReachScope {
  /** Makes a path absolute. */
  readonly resolve: (text: string) => string;
  readonly stateDir: string;
  readonly refuse: Refuse;
}

/** Where accounts of a config publish to, as it is written, and the part of it that they must not share. */
export interface SharedPlace {
  /** The key under `destination`. */
  readonly kind: string;
  /** As people call it. */
  readonly title: string;
  /** Its keys that make the place; the first one is always there. */
  readonly keys: readonly string[];
  readonly own: string;
  /** What the last of the keys is by default. */
  readonly fallback: string;
  /** The same text for values that mean the same place. */
  readonly simplify?: (value: string) => string;
}

/** Whether two paths are the same, or the first is inside the second; false if one is undefined. */
export type IsIn = (inner: string | undefined, outer: string | undefined) => boolean;

/** Places of this machine that a lakehouse must not overlap with, links followed. */
export interface Neighbourhood {
  readonly neighbours: readonly (readonly [path: string | undefined, name: string])[];
  /** Undefined for a config that is not a file. */
  readonly config: string | undefined;
  readonly isIn: IsIn;
}

const ENDPOINT: ConfigPath = ['destination', 's3', 'endpoint'];

/** How the engine reaches buckets and servers, whatever the config publishes to. */
export function resolveReach({ destination, engine }: Config, scope: ReachScope): EngineReach {
  return {
    extensions: findExtensions(engine?.extensionDirectory, scope),
    store: readStore(destination.s3, scope),
  };
}

/** The extensions of the engine: those of the config, or a folder that is filled when they are needed. */
function findExtensions(written: string | undefined, { resolve, stateDir }: ReachScope): ExtensionFolder {
  return written === undefined
    ? { folder: `${stateDir}/extensions`, installs: true }
    : { folder: resolve(written), installs: false };
}

/** How buckets are reached. */
export function readStore(
  s3: Config['destination']['s3'],
  { refuse }: Pick<ReachScope, 'refuse'>,
): ObjectStore {
  const { endpoint, region, urlStyle, credentials } = s3 ?? {};
  return {
    endpoint:
      endpoint === undefined
        ? undefined
        : readAddress(endpoint, { key: ENDPOINT, refuse, sends: 'rows and signatures' }),
    region,
    urlStyle,
    keys: typeof credentials === 'object' ? credentials : undefined,
  };
}

interface AddressRule {
  readonly key: ConfigPath;
  readonly refuse: Refuse;
  /** What would be sent in the clear without TLS. */
  readonly sends: string;
  /** Whether it may have a path. */
  readonly hasPath?: boolean;
}

/** The address of a server; `http://` is for one on this machine. */
export function readAddress(text: string, { key, refuse, sends, hasPath = false }: AddressRule): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain =
    url !== undefined &&
    (hasPath || url.pathname === '/') &&
    [url.search, url.hash, url.username, url.password].every((part) => part === '');
  if (!isPlain || !/^https?:$/.test(url.protocol))
    return refuse(
      key,
      'is not the address of a server',
      hasPath
        ? 'Write https://host/path, without a login in it.'
        : 'Write https://host, or https://host:port.',
    );
  const isLocal = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol === 'http:' && !isLocal)
    return refuse(
      key,
      `sends ${sends} over the network in the clear`,
      'Write https://; http:// is for a server on this machine.',
    );
  return url;
}
