import { describeFence } from './fence-conformance.ts';
import { duckdbFile, lake } from './publisher-cases.ts';

describeFence('the DuckDB file', () => duckdbFile);
describeFence('the lake', () => lake);
