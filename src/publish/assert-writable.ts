import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { PublishError } from '../model/errors.ts';

/** A folder to publish into. */
interface Target {
  readonly folder: string;
  /** What is published there, for people. */
  readonly what: string;
  /** What to write into the config instead. */
  readonly instead: string;
  /** The place that the error is about; the folder if left out. */
  readonly path?: string;
}

/** Refuses a folder that cannot be written or created: what cannot be published is not worth a request. */
export function assertWritable({ folder, what, instead, path = folder }: Target): void {
  const held = findExisting(folder);
  if (!statSync(held).isDirectory()) {
    throw new PublishError(`${held} is not a folder, and ${what} is to be published in ${folder}`, {
      code: 'publish_failed',
      hint: `Move it away, or set ${instead}. Nothing was requested.`,
      context: { path },
    });
  }
  try {
    accessSync(held, constants.W_OK);
  } catch (error) {
    const where = held === folder ? `write into ${folder}` : `create ${folder} in ${held}`;
    const isReadOnly = (error as NodeJS.ErrnoException).code === 'EROFS';
    const fix = isReadOnly
      ? 'It is on a read-only file system: mount a volume there that can be written'
      : 'Fix the permissions of the folder';
    throw new PublishError(`cannot ${where}, where ${what} is to be published`, {
      code: 'publish_failed',
      hint: `${fix}, or set ${instead}. Nothing was requested.`,
      context: { path },
      cause: error,
    });
  }
}

/** The folder itself, or the nearest one above it that exists. */
export function findExisting(folder: string): string {
  const above = dirname(folder);
  return existsSync(folder) || above === folder ? folder : findExisting(above);
}
