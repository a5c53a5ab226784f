import { createHash, randomBytes } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** A name for this process in the shared state, which others on the same machine can look up. */
export function createOwner(): string {
  return `${namePlace()}.${process.pid}.${randomBytes(3).toString('hex')}`;
}

/**
 * Whether the owner of a reservation is provably gone: it ran on this machine, in this process namespace,
 * and its process id is free. Anything less certain is alive, and its reservation expires by itself.
 */
export function isOwnerGone(owner: string): boolean {
  const [place, pidText] = owner.split('.');
  const pid = Number(pidText);
  if (place !== namePlace() || !Number.isSafeInteger(pid) || pid <= 0 || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/** The machine and, on Linux, the process namespace: containers count their processes each for themselves. */
function namePlace(): string {
  let namespace = '';
  try {
    namespace = readlinkSync('/proc/self/ns/pid');
  } catch {
    // Not Linux: a machine has one namespace, and its name is enough.
  }
  return createHash('sha256').update(`${hostname()}\n${namespace}`).digest('hex').slice(0, 8);
}
