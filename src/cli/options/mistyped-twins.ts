import type { Option } from './option.ts';
import { nameTwin } from './option.ts';

const PREFIX = 'SLUICE_';
// A variable of the config may have any name: only one that is clearly a twin is worth a warning.
const LEAST_SIMILARITY = 0.85;

type Flagged = Pick<Option<unknown>, 'flag'>;

/**
 * Warnings about variables that look like the twin of one of a command's options but have no effect. A mistyped option
 * is an error, but a variable may belong to another command, to the config or to another program. The options of other
 * commands are listed only if a variable is close to one of these.
 */
export async function warnOfMistypedTwins(
  env: NodeJS.ProcessEnv,
  options: readonly Flagged[],
  listOthers: () => Promise<readonly Flagged[]>,
): Promise<readonly string[]> {
  const own = toTwins(options);
  const unknown = Object.keys(env).filter((name) => name.startsWith(PREFIX) && !own.includes(name));
  if (unknown.length === 0) return [];
  const { findNearestName } = await import('../../text/suggest-name.ts');
  const suspects = unknown.flatMap((name) => {
    const meant = findNearestName(name, own, LEAST_SIMILARITY);
    return meant === undefined || meant.startsWith(`${name}_`) ? [] : [{ name, meant }];
  });
  if (suspects.length === 0) return [];
  const others = toTwins(await listOthers());
  return suspects.flatMap(({ name, meant }) =>
    others.includes(name) ? [] : [`the variable ${name} belongs to no option; did you mean ${meant}?`],
  );
}

function toTwins(options: readonly Flagged[]): readonly string[] {
  return options.map(({ flag }) => nameTwin(flag));
}
