import { readFileSync, readlinkSync } from 'node:fs';

/** Whether a process of this id may be running in this process namespace; one that we may not signal is. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
  return !hasEnded(pid);
}

/**
 * Whether a process is known to have ended, though its id is taken until its parent asks how. The first process of many
 * containers never asks. Only Linux tells, and only where `/proc` is of this namespace.
 */
function hasEnded(pid: number): boolean {
  try {
    if (readlinkSync('/proc/self') !== String(process.pid)) return false;
    const line = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The state is behind the program's name, which may hold brackets.
    return /^[ZX]/.test(line.slice(line.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}
