import { describeFence } from './fence-conformance.ts';
import { duckdbFile, lake } from './publisher-cases.ts';

describeFence('the DuckDB file', () => duckdbFile, { stride: 6, claimStride: 2, pairs: 5 });
describeFence('the lake', () => lake, { stride: 9, claimStride: 3, pairs: 4 });
