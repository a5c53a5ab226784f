import { accessSync, constants, existsSync } from 'node:fs';
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

/** Refuses a folder that cannot be written: what cannot be published is not worth a request. */
export function assertWritable({ folder, what, instead, path = folder }: Target): void {
  if (!existsSync(folder)) return;
  try {
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new PublishError(`cannot write into ${folder}, where ${what} is to be published`, {
      code: 'publish_failed',
      hint: `Fix the permissions of the folder, or set ${instead}. Nothing was requested.`,
      context: { path },
      cause: error,
    });
  }
}
