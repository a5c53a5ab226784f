import { readFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';

/** Where and when numbers were taken. */
export interface Machine {
  readonly date: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly node: string;
  readonly duckdb: string;
  /** Load of the last minute, before the measuring began. */
  readonly load: number;
}

/** Looks at the machine; call before measuring, because of the load. */
export function describeMachine(): Machine {
  return {
    date: new Date().toISOString().slice(0, 10),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    node: process.versions.node,
    duckdb: readVersion('@duckdb/node-api'),
    load: loadavg()[0] ?? 0,
  };
}

/** One line of a report. */
export function writeMachine({ date, cpu, cores, memoryGb, node, duckdb, load }: Machine): string {
  return `${date}: ${cpu}, ${cores} cores, ${memoryGb} GB, Node ${node}, @duckdb/node-api ${duckdb}; load before the run ${load.toFixed(1)}`;
}

function readVersion(name: string): string {
  const file = join(import.meta.dirname, '../../node_modules', name, 'package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string }).version;
}
