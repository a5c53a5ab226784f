import type { RunReport } from '../src/model/run-report.ts';
import { isRunUnderWay } from './lock.ts';
import { describeKilled, readRunFile } from './run-file.ts';

/** The runs of the run file, newest first. One without a recorded end is still running or was killed. */
export function readRecentRuns(stateDir: string): readonly RunReport[] {
  const runs = readRunFile(stateDir);
  if (!runs.some(({ status }) => status === 'running') || isRunUnderWay(stateDir)) return runs;
  return runs.map((run) => (run.status === 'running' ? describeKilled(stateDir, run) : run));
}
