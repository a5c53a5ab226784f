import { afterAll, beforeAll } from 'vitest';
import { quoteLiteral } from '../../src/warehouse/identifiers.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { openLakeReader, openReader } from '../support/ducklake-reader.ts';
import { type IcebergCatalog, openCatalogReader, startCatalog } from '../support/iceberg-catalog.ts';
import {
  type ObjectStore,
  type PostgresServer,
  startObjectStore,
  startPostgres,
} from '../support/lake-servers.ts';
import { makeFolder } from '../support/sync-harness.ts';
import { describeFence } from './fence-conformance.ts';
import { duckLake, makeServerCase } from './lakehouse-cases.ts';
import type { PublisherCase } from './publish-world.ts';

// Before others A only reads, or changes what nobody sees before the commit. A step takes a second or more: each full proof
// begins at another one, and the soak takes all.
const only = /^(?:confirm|sql (?:BEGIN|UPDATE|CALL ducklake|COMMIT))/;

describeWithServers('a DuckLake on this machine', () => {
  describeFence('a DuckLake', () => duckLake, { only, stride: 12, claimStride: 24, pairs: 1 });
});

describeWithServers('lakehouses on a server of Postgres', () => {
  let postgres: PostgresServer;
  let url: string;
  let catalog: string;

  beforeAll(async () => {
    postgres = await startPostgres();
    url = await postgres.createDatabase('warehouse');
    catalog = await postgres.createDatabase('catalog');
  });
  afterAll(() => postgres.stop());

  const open = () =>
    openReader(['postgres_scanner'], [`ATTACH ${quoteLiteral(url)} AS lake (TYPE postgres, READ_ONLY)`]);
  describeFence('Postgres', () => makeServerCase({ postgres: { url } }, open), {
    only,
    stride: 12,
    claimStride: 24,
    pairs: 1,
  });

  let shared: PublisherCase | undefined;
  function makeShared(): PublisherCase {
    const destination = { ducklake: { catalog, data: makeFolder() } };
    return makeServerCase(destination, () => openLakeReader(`postgres:${catalog}`));
  }
  describeFence('a DuckLake in Postgres', () => (shared ??= makeShared()), {
    only,
    stride: 18,
    claimStride: 36,
    pairs: 1,
  });
});

describeWithServers('Iceberg', () => {
  let store: ObjectStore;
  let catalog: IcebergCatalog;

  beforeAll(async () => {
    store = await startObjectStore();
    catalog = await startCatalog(store);
  });
  afterAll(async () => {
    await catalog.stop();
    await store.stop();
  });

  function makeIceberg(): PublisherCase {
    const { endpoint, region, keyId, secret } = store;
    return makeServerCase(
      {
        iceberg: { endpoint: catalog.endpoint, warehouse: catalog.warehouse, namespace: 'unused' },
        s3: { endpoint: `http://${endpoint}`, region, urlStyle: 'path', credentials: { keyId, secret } },
      },
      () => openCatalogReader(catalog, store),
    );
  }
  describeFence('Iceberg', makeIceberg, { only, stride: 24, claimStride: 48, pairs: 1 });
});
