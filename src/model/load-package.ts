import { ConfigError } from './errors.ts';

/** A package that only some users need. */
export interface OptionalPackage {
  readonly name: string;
  /** What has to be installed, where other versions were not tried. */
  readonly version?: string;
  /** What needs it: `this fleet`. */
  readonly neededBy: string;
}

/**
 * Loads a package that is not installed everywhere.
 *
 * @param load imports it, e.g. `() => import('tar')`
 * @throws ConfigError (2) if it is not installed
 */
export async function loadPackage<T>(
  { name, version, neededBy }: OptionalPackage,
  load: () => Promise<T>,
): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    if (!isMissing(name, cause)) throw cause;
    throw new ConfigError(`the package ${name} is not installed, and ${neededBy} needs it`, {
      code: 'config_invalid',
      hint: `Run npm install ${version === undefined ? name : `${name}@${version}`} where Sluice is installed. Nothing was requested.`,
      cause,
    });
  }
}

/** Whether a package is not there. A package of a package that is missing is another fault: its own message says more. */
function isMissing(name: string, thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  return (
    (thrown as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND' && thrown.message.includes(`'${name}'`)
  );
}
