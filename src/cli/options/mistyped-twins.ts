import type { Option } from './option.ts';
import { nameTwin } from './option.ts';

const PREFIX = 'SLUICE_';
// A variable of the config may have any name: only one that is clearly a twin is worth a warning.
const LEAST_SIMILARITY = 0.85;

/**
 * Warnings about variables that look like the twin of an option but have no effect. A mistyped option is an error, but
 * a variable may belong to the config or to another program.
 */
export async function warnOfMistypedTwins(
  env: NodeJS.ProcessEnv,
  listOptions: () => Promise<readonly Pick<Option<unknown>, 'flag'>[]>,
): Promise<readonly string[]> {
  const given = Object.keys(env).filter((name) => name.startsWith(PREFIX));
  if (given.length === 0) return [];
  const twins = (await listOptions()).map(({ flag }) => nameTwin(flag));
  const unknown = given.filter((name) => !twins.includes(name));
  if (unknown.length === 0) return [];
  const { findNearestName } = await import('../../text/suggest-name.ts');
  return unknown.flatMap((name) => {
    const nearest = findNearestName(name, twins, LEAST_SIMILARITY);
    return nearest === undefined || nearest.startsWith(`${name}_`)
      ? []
      : [`the variable ${name} belongs to no option; did you mean ${nearest}?`];
  });
}
