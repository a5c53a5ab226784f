import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname, networkInterfaces } from 'node:os';
import { isRunning } from '../model/is-running.ts';

/** A name for this process in the shared state, which others on the same machine can look up. */
export function createOwner(): string {
  return `${namePlace()}.${process.pid}.${randomBytes(3).toString('hex')}`;
}

/**
 * Whether the owner of a reservation is provably gone: it ran on this machine, in this process namespace,
 * and its process id is free. Anything less certain is alive, and its reservation expires by itself.
 */
export function isOwnerGone(owner: string): boolean {
  const pid = readPid(owner);
  return pid !== undefined && pid !== process.pid && isOfThisPlace(owner) && !isRunning(pid);
}

/** Whether the owner of a reservation is on this machine, in this process namespace, and has not ended. */
export function isOwnerHere(owner: string): boolean {
  const pid = readPid(owner);
  return pid !== undefined && isOfThisPlace(owner) && isRunning(pid);
}

function readPid(owner: string): number | undefined {
  const pid = Number(owner.split('.')[1]);
  return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined;
}

function isOfThisPlace(owner: string): boolean {
  return owner.startsWith(`${namePlace()}.`);
}

/**
 * The machine since it started and, on Linux, the process namespace: containers count their processes each for
 * themselves. Machines that share a quota may have the same name, and the first namespace has the same number on all of
 * them, so the name alone would take a process of another machine for dead where its id is free here.
 */
function namePlace(): string {
  const parts = [hostname(), nameBoot(), readNamespace()];
  return createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 8);
}

/** Differs between machines; it may change while nothing else does, which leaves a reservation to expire by itself. */
function nameBoot(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    const cards = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
    return [...new Set(cards.map(({ mac }) => mac))].toSorted().join(' ');
  }
}

function readNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    // Not Linux: a machine has one namespace.
    return '';
  }
}
