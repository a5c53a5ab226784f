import type { ConfigPath } from './config-path.ts';
import { type LakehouseScope, readAddress, type SharedPlace } from './lakehouse-settings.ts';
import type { Config } from '../model/config.ts';
import type { CatalogLogin, IcebergDestination, ObjectStore } from '../model/destination.ts';

type Written = NonNullable<Config['destination']['iceberg']>;

const ENDPOINT: ConfigPath = ['destination', 'iceberg', 'endpoint'];
const TOKEN_URL: ConfigPath = ['destination', 'iceberg', 'oauth2', 'tokenUrl'];

export const icebergPlace: SharedPlace = {
  kind: 'iceberg',
  title: 'Iceberg catalog',
  keys: ['endpoint', 'warehouse', 'namespace'],
  own: 'namespace',
  fallback: 'main',
};

/** The Iceberg catalog of a config; undefined where it names none. */
export function resolveIceberg(
  { destination: { iceberg, s3 } }: Config,
  scope: LakehouseScope,
): IcebergDestination | undefined {
  if (iceberg === undefined) return undefined;
  const { warehouse, namespace, multiTableCommit = true } = iceberg;
  const endpoint = readAddress(iceberg.endpoint.replace(/\/v1\/?$/, ''), {
    key: ENDPOINT,
    refuse: scope.refuse,
    sends: 'a login',
    hasPath: true,
  });
  const login = readLogin(iceberg, scope);
  const store = s3 === undefined ? undefined : scope.reach.store;
  return {
    kind: 'iceberg',
    path: `${endpoint.host}${endpoint.pathname.replace(/\/$/, '')} ${warehouse}.${namespace}`,
    endpoint,
    warehouse,
    schema: namespace,
    login,
    store,
    commitsTogether: multiTableCommit,
    extensions: scope.reach.extensions,
    secrets: listSecrets(login, store),
  };
}

function readLogin({ token, oauth2 }: Written, { refuse }: LakehouseScope): CatalogLogin | undefined {
  if (token !== undefined) return { token };
  if (oauth2 === undefined) return undefined;
  const tokenUrl = readAddress(oauth2.tokenUrl, { key: TOKEN_URL, refuse, sends: 'a secret', hasPath: true });
  return { ...oauth2, tokenUrl };
}

function listSecrets(login: CatalogLogin | undefined, store: ObjectStore | undefined): readonly string[] {
  const ofLogin = login === undefined ? undefined : 'token' in login ? login.token : login.clientSecret;
  return [ofLogin, store?.keys?.secret].filter((text) => text !== undefined);
}
