import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';

/** A way to start a process that gets no more memory than this. */
export interface MemoryLimit {
  readonly within: readonly string[];
  readonly name: string;
  /** Call when its process has ended. */
  readonly release: () => void;
}

/** The limit of a container where this user may make a memory group, else one that is stricter. */
export async function limitMemory(megabytes: number): Promise<MemoryLimit | undefined> {
  return limitByGroup(megabytes) ?? (await limitByData(megabytes));
}

const GROUPS = [
  { parent: '/sys/fs/cgroup/memory', limit: 'memory.limit_in_bytes', name: 'cgroup v1' },
  { parent: '/sys/fs/cgroup', limit: 'memory.max', name: 'cgroup v2' },
] as const;

/** A memory group of its own: what containers limit memory by. */
function limitByGroup(megabytes: number): MemoryLimit | undefined {
  for (const { parent, limit, name } of GROUPS) {
    const group = join(parent, `sluice-bench-${process.pid}`);
    try {
      if (!existsSync(join(parent, 'cgroup.procs'))) continue;
      mkdirSync(group);
      writeFileSync(join(group, limit), String(megabytes * 2 ** 20));
    } catch {
      continue;
    }
    return {
      within: ['sh', '-c', 'echo $$ > "$0/cgroup.procs" && exec "$@"', group],
      name: `a memory group (${name}) of ${megabytes} MB, as containers have; the pages that the system keeps of files are in it`,
      release: () => {
        rmdirSync(group);
      },
    };
  }
  return undefined;
}

/**
 * A limit that needs no rights: on memory that is the process's own to write (`ulimit -d`). Node reserves some
 * hundred megabytes of that when it starts and does not use them, so what an idle Node has reserved and not used
 * is added. It counts what is reserved whether it is in RAM or not. Undefined where the system knows no such limit.
 */
async function limitByData(megabytes: number): Promise<MemoryLimit | undefined> {
  const unused = process.platform === 'linux' ? await readUnusedMb() : undefined;
  if (unused === undefined) return undefined;
  const kilobytes = Math.round((megabytes + unused) * 1_024);
  return {
    within: ['sh', '-c', 'ulimit -d "$0" && exec "$@"', String(kilobytes)],
    name: `\`ulimit -d\` of ${megabytes} MB on top of the ${Math.round(unused)} MB that an idle Node reserves and does not use; stricter than a container's, since it counts what is reserved and not in RAM`,
    release: () => undefined,
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
