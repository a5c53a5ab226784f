import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { once } from 'node:events';

/** A way to start a process that gets no more memory than this. */
export interface MemoryLimit {
  readonly within: readonly string[];
  readonly name: string;
}

/**
 * A limit that needs no rights: on memory that is the process's own to write (`ulimit -d`). Node reserves some
 * hundred megabytes of that when it starts and does not use them, so what an idle Node has reserved and not used
 * is added. Undefined where the system knows no such limit.
 */
export async function limitMemory(megabytes: number): Promise<MemoryLimit | undefined> {
  const unused = process.platform === 'linux' ? await readUnusedMb() : undefined;
  if (unused === undefined) return undefined;
  const kilobytes = Math.round((megabytes + unused) * 1_024);
  return {
    within: ['sh', '-c', 'ulimit -d "$0" && exec "$@"', String(kilobytes)],
    name: `\`ulimit -d\` of ${megabytes} MB beside the ${Math.round(unused)} MB that an idle Node reserves and does not use`,
  };
}

/** What an idle Node reserved of its own and has not in RAM, MB. */
async function readUnusedMb(): Promise<number | undefined> {
  const idle = spawn(process.execPath, ['-e', 'process.send("here"); process.once("disconnect", () => {})'], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  await once(idle, 'message');
  const status = readFileSync(`/proc/${idle.pid ?? 0}/status`, 'utf8');
  idle.disconnect();
  const read = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1_024;
  const unused = read('VmData') - read('RssAnon');
  return Number.isNaN(unused) ? undefined : unused;
}
