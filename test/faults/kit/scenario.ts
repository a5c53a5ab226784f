import type { ProcessEnd } from '../../support/run-node.ts';

/** How a command ended, as an operator sees it the morning after. */
export interface ScenarioEnd {
  readonly exitCode: number | null;
  /** `error.code`; undefined where nothing failed, or where the process had no say in its end. */
  readonly code: string | undefined;
  /** `error.message`, or the summary where nothing failed. */
  readonly message: string;
  readonly hint: string;
}

/** Brings one row of docs/reliability.md about and says how it ended. */
export type Scenario = () => Promise<ScenarioEnd>;

/** Reads the one object that `--json` prints. */
export function readEnd({ exitCode, stdout }: Pick<ProcessEnd, 'exitCode' | 'stdout'>): ScenarioEnd {
  const envelope = JSON.parse(stdout) as {
    readonly summary: string;
    readonly error: { readonly code: string; readonly message: string; readonly hint: string } | null;
  };
  const { error, summary } = envelope;
  return {
    exitCode,
    code: error?.code,
    message: error?.message ?? summary,
    hint: error?.hint ?? '',
  };
}
