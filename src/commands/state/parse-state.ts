import { escapeText } from '../../config/config-path.ts';
import { describeLines, findRepeatedNames } from '../../json/repeated-names.ts';
import { ConfigError } from '../../model/errors.ts';
import { exportedStateSchema } from '../../../state/exported-state.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { ExportedState } from '../../model/state-report.ts';

/** Parses an exported state; rejects states of another source or a newer version, and invalid ones. */
export function parseState(settings: OfflineSettings, text: string): Pick<ExportedState, 'checkpoints'> {
  const json = parseJson(text);
  const { format, version } = (json ?? {}) as { readonly format?: unknown; readonly version?: unknown };
  if (format !== 'sluice-state') throw toRefusal('it was not written by `sluice state export`');
  if (typeof version === 'number' && version > 1)
    throw toRefusal(
      `it was written by a newer Sluice (version ${version})`,
      'Upgrade Sluice. Nothing was imported.',
    );
  const parsed = exportedStateSchema.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw toRefusal(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not what was expected'}`);
  }
  const { connector, baseUrl, checkpoints } = parsed.data;
  const ours = settings.baseUrl.href.replace(/\/$/, '');
  if (connector !== settings.connector.name || baseUrl !== ours) {
    throw new ConfigError(
      `the state is of ${connector} at ${baseUrl}, the config says ${settings.connector.name} at ${ours}`,
      {
        code: 'identity_mismatch',
        hint: 'Nothing was imported: watermarks of another source would leave rows out.',
      },
    );
  }
  const names = checkpoints.map(({ stream, slice }) => `${stream}\n${slice}`);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw toRefusal(`it has two checkpoints of ${twice.split('\n')[0] ?? ''}`);
  return { checkpoints };
}

function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the text, which may be any bytes.
    throw toRefusal('it is not JSON, so it is not what `sluice state export` wrote, or a part of that');
  }
  const [repeated] = findRepeatedNames(text);
  if (repeated === undefined) return value;
  throw toRefusal(`it names ${escapeText(repeated.pointer)} more than once, ${describeLines(repeated)}`);
}

function toRefusal(why: string, hint = 'Nothing was imported.'): ConfigError {
  return new ConfigError(`the state cannot be imported: ${why}`, { code: 'usage_invalid', hint });
}
