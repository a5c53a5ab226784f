import { toSafeLine } from '../../render/safe-text.ts';
import { wrapText } from '../../render/wrap-text.ts';
import { formatBytes } from '../../text/format-bytes.ts';
import { formatCount } from '../../text/format-count.ts';
import type { CommandOutcome } from '../frame/command.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import { loadFleet } from './load-fleet.ts';
import { writeOutput } from './output-file.ts';
import { findTarget } from './report-file.ts';

const MOST_FAILURES = 10;

/** Writes one file about a whole fleet, from its database. `output` is as the user gave it. */
export async function reportFleet(
  context: CliContext,
  globals: GlobalValues,
  output: string,
): Promise<CommandOutcome> {
  const target = await findTarget(context.cwd, output);
  const { settings, names } = await loadFleet(context, globals);
  const { html, summary } = await context.engine.fleet.makeReport(settings, names);
  const bytes = await writeOutput(target, html, context.randomHex(8));
  const { failed, headline } = summary;
  const more = failed.length - MOST_FAILURES;
  const text = [
    `Wrote ${toSafeLine(output)} (${formatBytes(bytes)})`,
    `${headline}.`,
    ...failed
      .slice(0, MOST_FAILURES)
      .map(({ account, error }) => `- ${account}: ${toSafeLine(error?.message ?? 'failed')}`),
    ...(more > 0 ? [`and ${formatCount(more)} more`] : []),
  ].join('\n');
  return {
    exitCode: 0,
    summary: `${headline}; written to ${output}`,
    result: { path: target.absolute, bytes, ...summary },
    text: wrapText(text, context.output.stdout.columns()),
  };
}
