import { describeWithServers } from '../support/describe-with-servers.ts';
import { duckLake } from './lakehouse-cases.ts';
import { describePublisher } from './publisher-conformance.ts';

describeWithServers('a DuckLake with a catalog and data on this machine', () => {
  describePublisher('a DuckLake', duckLake);
});
