import { quoteLiteral } from '../../src/warehouse/identifiers.ts';
import { type LakeReader, openReader } from './ducklake-reader.ts';
import { describeSecret, type ObjectStore } from './lake-servers.ts';
import { findJar, findJava } from './find-nessie.ts';
import { startServer } from './server-child.ts';

/** An Iceberg REST catalog of its own (Nessie), whose warehouse `wh` is in a bucket. */
export interface IcebergCatalog {
  /** Without `/v1`. */
  readonly endpoint: string;
  readonly warehouse: string;
  stop(): Promise<void>;
}

/** Starts a catalog that keeps everything in memory, with its data in the bucket `warehouse` of a store. */
export async function startCatalog(store: ObjectStore): Promise<IcebergCatalog> {
  const [java, jar] = [findJava(), findJar()];
  if (java === undefined || jar === undefined) throw new Error('Nessie is not installed');
  const s3 = 'nessie.catalog.service.s3.default-options';
  const settings = {
    'quarkus.http.host': '127.0.0.1',
    'quarkus.http.port': '0',
    'quarkus.management.host': '127.0.0.1',
    'quarkus.management.port': '0',
    'quarkus.otel.sdk.disabled': 'true',
    'nessie.version.store.type': 'IN_MEMORY',
    'nessie.server.authentication.enabled': 'false',
    'nessie.catalog.default-warehouse': 'wh',
    'nessie.catalog.warehouses.wh.location': 's3://warehouse/wh',
    [`${s3}.endpoint`]: `http://${store.endpoint}/`,
    [`${s3}.path-style-access`]: 'true',
    [`${s3}.region`]: store.region,
    [`${s3}.access-key`]: 'urn:nessie-secret:quarkus:key',
    'key.name': store.keyId,
    'key.secret': store.secret,
  };
  const options = Object.entries(settings).map(([name, value]) => `-D${name}=${value}`);
  await store.createBucket('warehouse');
  const child = await startServer([java, '-Xmx512m', ...options, '-jar', jar], {
    ready: /Listening on: (http:\/\/127\.0\.0\.1:\d+)/,
    endSignal: 'SIGKILL',
  });
  return { endpoint: `${child.found[1]}/iceberg`, warehouse: 'wh', stop: () => child.stop() };
}

/** Opens a catalog as `lake` in an engine of its own, as any program would. */
export function openCatalogReader(
  { endpoint, warehouse }: IcebergCatalog,
  store: ObjectStore,
): Promise<LakeReader> {
  const modes = `AUTHORIZATION_TYPE 'none', ACCESS_DELEGATION_MODE 'none'`;
  const options = `TYPE iceberg, ENDPOINT ${quoteLiteral(endpoint)}, ${modes}`;
  return openReader(
    ['httpfs', 'avro', 'iceberg'],
    [describeSecret(store), `ATTACH ${quoteLiteral(warehouse)} AS lake (${options})`],
  );
}
