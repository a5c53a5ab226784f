import { describeWithServers } from '../support/describe-with-servers.ts';
import { standInForMotherDuck } from '../support/duckdb-for-motherduck.ts';
import { describeFence } from './fence-conformance.ts';
import { motherDuck, motherDuckOfTwo } from './lakehouse-cases.ts';
import { describePublisher } from './publisher-conformance.ts';

standInForMotherDuck();

describePublisher('MotherDuck, with a DuckDB database in its place', motherDuck);

describeWithServers('MotherDuck, with a DuckLake in its place', () => {
  const only = /^(?:confirm|sql (?:BEGIN|UPDATE|COMMIT))/;
  describeFence('MotherDuck', () => motherDuckOfTwo, { only, stride: 24, claimStride: 48, pairs: 1 });
});
