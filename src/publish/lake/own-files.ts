import type { EntryKind } from '../../model/account.ts';
import { LAKE_CATALOG, LAKE_MANIFEST } from '../../model/lake.ts';
import { KEPT_FILE } from '../../warehouse/kept-generations.ts';
import { GENERATIONS } from '../../warehouse/lake-entry.ts';
import { isHiddenName } from '../holder-mark.ts';
import { isGeneration } from './clean-up.ts';
import { isCurrent } from './folders.ts';
import { readManifest } from './manifest.ts';

const FILES = [LAKE_MANIFEST, LAKE_CATALOG];

/**
 * Whether a path below a lake, with `/`, is one that this publisher makes for a table of its manifest. Throws for a
 * manifest that cannot be read.
 */
export function isOwnInLake(lake: string): (path: string, kind: EntryKind) => boolean {
  const { tables = [], dropped = [] } = readManifest(lake) ?? {};
  const known = new Set([...tables, ...dropped].map(({ table }) => table));
  return (path, kind) => {
    const [first = '', second = '', third = '', ...rest] = path.split('/');
    if (first !== GENERATIONS) {
      if (second === '') return kind === 'folder' ? known.has(first) : isLakeFile(first) && kind === 'file';
      return known.has(first) && kind === 'symlink' && third === '' && isCurrent(second);
    }
    if (second === '') return kind === 'folder';
    if (third === '' && isKeptFile(second)) return kind === 'file';
    if (!known.has(second)) return false;
    if (kind === 'folder') return third === '' || isGeneration(third);
    return kind === 'file' && isGeneration(third) && isDataFile(rest.at(-1));
  };
}

function isLakeFile(name: string): boolean {
  const file = name.replace(/\.wal$/, '');
  return FILES.some((one) => file === one || isHiddenName(one, file));
}

function isKeptFile(name: string): boolean {
  return name.replace(/\.tmp$/, '') === KEPT_FILE;
}

/** Undefined for a file in the place of a generation: the empty one that new folders are linked to. */
function isDataFile(name: string | undefined): boolean {
  return name === undefined || /^[0-9a-f-]{36}\.parquet$/.test(name);
}
