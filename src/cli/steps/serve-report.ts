import { AbortedError } from '../../model/errors.ts';
import { HOUR_MS } from '../../model/dates.ts';
import type { CommandOutcome } from '../frame/command.ts';
import type { CliContext } from '../frame/context.ts';
import { usageError } from '../options/usage-error.ts';
import { listPages, type PageSource } from './live-pages.ts';
import { isShown, openGuard, PAGE_TOKEN } from '../../metrics/page-guard.ts';

/** Where a report is served, and what tells where that is. */
export interface ServeRequest {
  readonly port: number;
  readonly host: string;
  readonly announce: (outcome: CommandOutcome) => void;
}

/** Serves a report until the command is stopped. */
export async function serveReport(
  context: CliContext,
  source: PageSource,
  { port, host, announce }: ServeRequest,
): Promise<CommandOutcome> {
  const { clock, engine, signal } = context;
  const guard = openGuard(host, context);
  if (!isShown(guard))
    throw usageError(
      `other machines can reach ${host}, and ${PAGE_TOKEN} is not set`,
      'Set it, e.g. to the output of openssl rand -hex 16, and open the page with ?token= and its value; or leave out --serve-host.',
    );
  const server = await engine.startMetricsServer({
    port,
    host,
    paths: listPages(source, guard),
    flags: { port: '--serve-port', host: '--serve-host' },
  });
  try {
    const address = `${server.origin}/`;
    const how = guard.token === undefined ? '' : ` Open it with ?token= and the value of ${PAGE_TOKEN}.`;
    announce({
      exitCode: 0,
      summary: `the report is at ${address}`,
      result: { address },
      text: `The report is at ${address}, current at each load.${how} Ctrl-C stops it.`,
    });
    // The server alone does not keep the process alive.
    while (!signal.aborted) await clock.sleep(HOUR_MS, signal).catch(() => undefined);
  } finally {
    await server.close();
  }
  const reason: unknown = signal.reason;
  const exitCode = reason instanceof AbortedError ? reason.exitCode : 0;
  return { exitCode, summary: 'the report is no longer served', result: null, text: '' };
}
