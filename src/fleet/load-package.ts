import { ConfigError } from '../model/errors.ts';

/**
 * Loads a package that only fleets need.
 *
 * @param load imports it, e.g. `() => import('tar')`
 * @param version the one that has to be installed, where others were not tried
 * @throws ConfigError (2) if it is not installed
 */
export async function loadPackage<T>(name: string, load: () => Promise<T>, version?: string): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    if (!isMissing(name, cause)) throw cause;
    throw new ConfigError(`the package ${name} is not installed, and this fleet needs it`, {
      code: 'config_invalid',
      hint: `Run npm install ${version === undefined ? name : `${name}@${version}`} where Sluice is installed. Nothing was requested.`,
      cause,
    });
  }
}

// A package of a package that is missing is another fault: its own message says more.
function isMissing(name: string, thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  return (
    (thrown as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND' && thrown.message.includes(`'${name}'`)
  );
}
