import { duckdbFile, lake } from './publisher-cases.ts';
import { describePublisher } from './publisher-conformance.ts';

describePublisher('the DuckDB file', duckdbFile);
describePublisher('the lake', lake);
