import type { EndedProcess } from '../../dagster/synced-account.ts';
import type { AccountsReport } from '../../model/accounts-report.ts';
import type { SyncError } from '../../model/errors.ts';
import type { RunObserver } from '../../model/run-observer.ts';
import { toReportedError } from '../../model/run-report.ts';
import type { CliContext } from '../frame/context.ts';

/** Reports a run to the step of Dagster that runs this process; with accounts, all of their runs together. */
export interface DagsterObserver extends RunObserver {
  onEnd: NonNullable<RunObserver['onEnd']>;
  onAccountsEnd(report: AccountsReport): readonly string[];
}

/** Begins to report to Dagster; undefined where nothing says that it runs this process. */
export async function reportToDagster({ env, output }: CliContext): Promise<DagsterObserver | undefined> {
  if (!env['DAGSTER_PIPES_CONTEXT'] && !env['DAGSTER_PIPES_MESSAGES']) return undefined;
  const { PipesSession } = await import('../../dagster/pipes-session.ts');
  const session = new PipesSession({
    env,
    write: (stream, text) => void output[stream].stream.write(text),
    mask: output.mask,
  });
  return {
    name: 'Dagster',
    onEnd: ({ report, error }) =>
      Promise.resolve(
        session.end(
          report === undefined
            ? describeRefusal(error)
            : {
                exitCode: report.exitCode,
                resumeAt: report.resumeAt,
                accounts: [
                  {
                    account: undefined,
                    report,
                    error: report.error ?? report.streams.find((stream) => stream.error !== undefined)?.error,
                  },
                ],
                error: undefined,
                warnings: report.warnings,
              },
        ),
      ),
    onAccountsEnd: (report) =>
      session.end({
        ...report,
        warnings: [
          ...report.warnings,
          ...report.accounts.flatMap(({ account, report: own }) =>
            (own?.warnings ?? []).map((warning) => `${account}: ${warning}`),
          ),
        ],
      }),
  };
}

function describeRefusal(thrown: SyncError): EndedProcess {
  const error = toReportedError(thrown);
  return { exitCode: error.exitCode, resumeAt: error.resumeAt, accounts: [], error, warnings: [] };
}
