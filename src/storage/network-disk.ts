import { existsSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { OfflineSettings } from '../model/settings.ts';

/**
 * File systems over a network, by the number that Linux gives them: their locks work only in some setups. 9P is left
 * out, which is what sandboxes call their own disk.
 */
const NETWORK_DISKS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x00c36400, 'Ceph'],
  [0x5346414f, 'AFS'],
]);

/** Returns the `statfs` type of a folder's file system; undefined if it is unknown. */
export type ReadDiskType = (folder: string) => number | undefined;

/** A warning for each folder with unreliable locks; none if that is unknown. */
export function describeNetworkDisks(
  { stateDir, ledgerDir }: Pick<OfflineSettings, 'stateDir' | 'ledgerDir'>,
  readType: ReadDiskType = readDiskType,
): readonly string[] {
  const folders = { stateDir, 'source.quota.ledgerDir': ledgerDir };
  return Object.entries(folders).flatMap(([name, folder]) => {
    const disk = NETWORK_DISKS.get((readType(folder) ?? 0) >>> 0);
    if (disk === undefined) return [];
    return `${name} ${folder} is on a network disk (${disk}), where locks may not work: keep it on a local disk, or make sure that only one run uses it at a time`;
  });
}

// The numbers are specific to Linux.
function readDiskType(folder: string): number | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    return statfsSync(findExisting(folder)).type;
  } catch {
    return undefined;
  }
}

function findExisting(folder: string): string {
  const parent = dirname(folder);
  return existsSync(folder) || parent === folder ? folder : findExisting(parent);
}
