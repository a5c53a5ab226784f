import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const measurer = resolve(import.meta.dirname, '../peers/measure.py');

/** A program and its arguments. */
export type Command = readonly string[];

/** What commands cost from the start of the first to the end of the last, with every process that they started. */
export interface CommandCost {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** The largest process of each command; of a pipe's commands the sum. */
  readonly peakMb: number;
}

/** Where commands run, and with what. */
export interface CommandsOptions {
  /** The program that measures. */
  readonly python: string;
  readonly folder: string;
}

/**
 * Runs commands to their end, each one's output piped into the next.
 *
 * @throws Error when one does not end well, with the end of what was said
 */
export async function measureCommands(
  commands: readonly Command[],
  { python, folder }: CommandsOptions,
): Promise<CommandCost> {
  const log = join(folder, 'commands.log');
  // None of them is to call home, or to leave anything outside of its folder.
  const env = {
    ...process.env,
    DO_NOT_TRACK: '1',
    AIRBYTE_OFFLINE_MODE: '1',
    AIRBYTE_LOGGING_ROOT: join(folder, 'logs'),
    RUNTIME__DLTHUB_TELEMETRY: 'false',
    DLT_DATA_DIR: join(folder, 'dlt'),
    NO_COLOR: '1',
  };
  const { stdout } = await execute(python, [measurer, JSON.stringify({ commands, log })], {
    cwd: folder,
    env,
  });
  const { exitCodes, ...cost } = JSON.parse(stdout) as CommandCost & {
    readonly exitCodes: readonly number[];
  };
  const failed = exitCodes.find((code) => code !== 0);
  if (failed === undefined) return cost;
  throw new Error(`exit ${failed}: ${readFileSync(log, 'utf8').trimEnd().split('\n').at(-1) ?? ''}`);
}
