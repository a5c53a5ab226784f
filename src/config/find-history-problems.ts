import type { Config } from '../model/config.ts';
import type { Problem } from './problem.ts';

/** A stream's history is a table too: `<stream>_history` must not be the table of another stream. */
export function findHistoryProblems(
  names: readonly string[],
  { streams = {}, defaults }: Pick<Config, 'streams' | 'defaults'>,
): readonly Problem[] {
  const known = new Set(names);
  return names
    .filter((name) => {
      const own = streams[name];
      const keeps = own?.enabled !== false && (own?.history ?? defaults?.history ?? false);
      return keeps && known.has(`${name}_history`);
    })
    .map((name) => ({
      path: ['streams', `${name}_history`],
      message: `is the table of the versions of ${name}; give this stream another name, or set streams.${name}.history to false`,
    }));
}
