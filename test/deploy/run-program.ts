import { spawnSync } from 'node:child_process';
import { root } from './dockerfile.ts';

/** Runs a program in the project's folder and returns what it wrote; throws with all of it if it fails. */
export function runProgram(command: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}\n${stdout}${stderr}`);
  return stdout;
}

/** Runs a program that has to fail, and returns what it said. */
export function refuseProgram(command: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: 'utf8' });
  if (status === 0) throw new Error(`${command} ${args.join(' ')} was not refused`);
  return `${stdout}${stderr}`;
}
