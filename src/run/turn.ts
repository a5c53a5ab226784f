import { readContract } from '../../state/checkpoints.ts';
import type { Checkpoint, LearnedColumn, Stream } from '../model/stream.ts';
import type { ScanPlan } from '../plan/scan-plan.ts';
import { hashQuestion, stageFolder } from '../storage/state-folder.ts';
import type { RunContext } from './run-context.ts';
import type { FetchedScan, PreparedLoad } from './scan.ts';

/** One attempt at a stream (or a slice of it): what every step of its scan needs to know, worked out once. */
export interface Turn {
  readonly stream: Stream;
  readonly plan: ScanPlan;
  /** As the last commit left it; undefined before the first one. */
  readonly checkpoint: Checkpoint | undefined;
  /** The columns learned by earlier scans. */
  readonly learned: readonly LearnedColumn[];
  /** Folder of its staged pages. */
  readonly stage: string;
  /** Names what its staged pages answer. */
  readonly question: string;
}

/** A scan and what was prepared of it, on their way into the commit. */
export interface LoadedScan {
  readonly scan: FetchedScan;
  readonly load: PreparedLoad;
}

/** What is planned for a stream before its turn. */
export type PlannedScan = Pick<Turn, 'stream' | 'plan' | 'checkpoint'>;

export async function beginTurn(
  { settings, options, database }: RunContext,
  planned: PlannedScan,
): Promise<Turn> {
  const { stream, plan } = planned;
  return {
    ...planned,
    learned: await readContract(database, stream.name),
    stage: stageFolder(settings.stateDir, stream, options),
    question: hashQuestion(settings, stream, plan.from, options.limit),
  };
}
