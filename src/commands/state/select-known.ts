import { escapeText } from '../../config/config-path.ts';
import { suggestName } from '../../text/suggest-name.ts';
import { ConfigError } from '../../model/errors.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { Checkpoint } from '../../model/stream.ts';

/**
 * Checks names of streams against those in config or state; all of these if none are given. A stream that
 * left the config still has a state.
 */
export function chooseKnown(
  { streams, disabledStreams }: Pick<OfflineSettings, 'streams' | 'disabledStreams'>,
  checkpoints: readonly Checkpoint[],
  names: readonly string[] | undefined,
): readonly string[] {
  const known = [
    ...new Set([
      ...streams.map(({ name }) => name),
      ...disabledStreams,
      ...checkpoints.map(({ stream }) => stream),
    ]),
  ];
  const unknown = names?.filter((name) => !known.includes(name)) ?? [];
  if (unknown.length === 0) return names ?? known;
  throw new ConfigError(
    unknown.map((name) => `unknown stream "${escapeText(name)}"${suggestName(name, known)}`).join('\n'),
    {
      code: 'usage_invalid',
      hint: `Streams of this config and its state: ${known.join(', ')}.`,
    },
  );
}
