// Runs one sync in a process of its own and kills it, as `kill -9` would, at a moment the test names.
// Its one argument is a ChildPlan as JSON.
import { appendFileSync } from 'node:fs';
import fs from 'node:fs';
import fsPromises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { DuckDBConnection } from '@duckdb/node-api';
import type { ConfigInput, ProgressEvent } from '../../src/index.ts';
import type { SyncOptions } from '../../src/model/settings.ts';

/** Where the process dies. */
export type KillPoint =
  /** When the nth event of a type is emitted. */
  | { readonly at: 'event'; readonly type: ProgressEvent['type']; readonly nth: number }
  /** Before or after the nth SQL statement that begins with some text. */
  | { readonly at: 'sql'; readonly begins: string; readonly nth: number; readonly when: 'before' | 'after' }
  /** Before or after the nth call of a file function whose first path ends in some text. */
  | {
      readonly at: 'file';
      readonly call: 'rename' | 'copyFile' | 'rm' | 'renameSync';
      readonly ends: string;
      readonly nth: number;
      readonly when: 'before' | 'after';
    };

export interface ChildPlan {
  readonly config: ConfigInput;
  readonly options?: SyncOptions;
  readonly kill?: KillPoint;
  /** File that gets a line for each progress event, written at once. */
  readonly eventLog?: string;
}

const plan = JSON.parse(process.argv[2] ?? '{}') as ChildPlan;

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  // The signal arrives before the call returns; should it not, nothing more may happen here.
  for (;;);
}

let seen = 0;
function isMoment(nth: number): boolean {
  seen += 1;
  return seen === nth;
}

type AnyFunction = (...args: unknown[]) => unknown;

/** Replaces a method by one that dies before or after the nth call that matches. */
function dieAround(
  target: Record<string, AnyFunction>,
  name: string,
  point: { readonly nth: number; readonly when: 'before' | 'after' },
  matches: (first: string) => boolean,
): void {
  const original = target[name];
  if (original === undefined) throw new Error(`there is no ${name}`);
  target[name] = function (this: unknown, ...args: unknown[]) {
    const hit = matches(String(args[0])) && isMoment(point.nth);
    if (hit && point.when === 'before') die();
    const result = original.apply(this, args);
    if (!hit) return result;
    if (!(result instanceof Promise)) die();
    return result.then(die);
  };
}

const { kill } = plan;
if (kill?.at === 'sql') {
  const target = DuckDBConnection.prototype as unknown as Record<string, AnyFunction>;
  dieAround(target, 'run', kill, (sql) => sql.trimStart().startsWith(kill.begins));
}
if (kill?.at === 'file') {
  const target = (kill.call === 'renameSync' ? fs : fsPromises) as unknown as Record<string, AnyFunction>;
  dieAround(target, kill.call, kill, (path) => path.endsWith(kill.ends));
  syncBuiltinESMExports();
}

const { sync } = await import('../../src/index.ts');
const report = await sync(plan.config, {
  ...plan.options,
  onProgress: (event) => {
    if (plan.eventLog !== undefined) appendFileSync(plan.eventLog, `${JSON.stringify(event)}\n`);
    if (kill?.at === 'event' && event.type === kill.type && isMoment(kill.nth)) die();
  },
});
process.exitCode = report.exitCode;
