import { readlinkSync, realpathSync } from 'node:fs';
import path from 'node:path';

/** Whether a path is below another one, or the same; both with their links followed. */
export function isInside(
  inner: string,
  outer: string,
  platform: NodeJS.Platform = process.platform,
): boolean {
  const relative = path.relative(fold(outer, platform), fold(inner, platform));
  return relative === '' || (!/^\.\.(?:[/\\]|$)/.test(relative) && !path.isAbsolute(relative));
}

// File systems here treat names that differ only in case or accent encoding as the same.
function fold(target: string, platform: NodeJS.Platform): string {
  return platform === 'darwin' || platform === 'win32' ? target.normalize('NFC').toLowerCase() : target;
}

/** The path with the links of its existing part followed, so that two names of the same place are equal. */
export function resolveLinks(target: string, followed = 0): string {
  try {
    return realpathSync(target);
  } catch {
    const pointed = readLink(target);
    // A link may point to something that does not exist yet; it is followed once that is created.
    if (pointed !== undefined && followed < MOST_LINKS)
      return resolveLinks(path.resolve(path.dirname(target), pointed), followed + 1);
    const parent = path.dirname(target);
    return parent === target ? target : path.join(resolveLinks(parent, followed), path.basename(target));
  }
}

const MOST_LINKS = 40;

function readLink(target: string): string | undefined {
  try {
    return readlinkSync(target);
  } catch {
    return undefined;
  }
}
