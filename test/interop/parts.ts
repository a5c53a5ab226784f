import type { InteropPart } from './part.ts';
import { proveAirbyte } from './parts/airbyte.ts';
import { proveDbt } from './parts/dbt.ts';
import { proveMcp } from './parts/mcp.ts';
import { proveOpenTelemetry } from './parts/opentelemetry.ts';
import { proveOrchestrators } from './parts/orchestrators.ts';
import { provePeers } from './parts/peers.ts';
import { provePython } from './parts/python.ts';
import { proveReaders } from './parts/readers.ts';
import { proveSinger } from './parts/singer.ts';
import { proveSparkTables } from './parts/spark.ts';

/** The proofs by name, in the order they run. */
export const parts: Readonly<Record<string, InteropPart>> = {
  readers: proveReaders,
  airbyte: proveAirbyte,
  singer: proveSinger,
  opentelemetry: proveOpenTelemetry,
  mcp: proveMcp,
  python: provePython,
  dbt: proveDbt,
  orchestrators: proveOrchestrators,
  peers: provePeers,
  spark: proveSparkTables,
};
