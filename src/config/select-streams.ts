import { ConfigError } from '../model/errors.ts';
import type { OfflineSettings } from '../model/settings.ts';
import type { Stream } from '../model/stream.ts';
import { escapeText } from './config-path.ts';
import { suggestName } from '../text/suggest-name.ts';

/** The enabled streams with these names, in the config's order; all of them when no names are given. */
export function selectStreams(
  settings: Pick<OfflineSettings, 'streams' | 'disabledStreams'>,
  names?: readonly string[],
): readonly Stream[] {
  if (names === undefined) return settings.streams;
  const valid = settings.streams.map((stream) => stream.name);
  const unknown = names.filter((name) => !valid.includes(name));
  if (unknown.length > 0 || names.length === 0) {
    const reasons = unknown.map((name) =>
      settings.disabledStreams.includes(name)
        ? `stream "${name}" is disabled in the config`
        : `unknown stream "${escapeText(name)}"${suggestName(name, valid)}`,
    );
    throw new ConfigError(reasons.length === 0 ? 'no stream was named' : reasons.join('\n'), {
      code: 'usage_invalid',
      hint: `Streams of this config: ${valid.join(', ')}.`,
    });
  }
  return settings.streams.filter((stream) => names.includes(stream.name));
}
