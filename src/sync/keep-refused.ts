import { ContractError, KeyMisfitError, ResponseError } from '../model/errors.ts';
import type { Turn } from '../run/turn.ts';
import { discardStage, markRefused, readStage } from '../stage/stage-store.ts';

/**
 * Runs a step that may refuse a scan, and decides what happens to its staged pages. Data that no config can accept is
 * dropped: the source must fix it and be read again. Pages that violate a contract are kept for one more run, as the
 * contract may be changed. The error that is thrown says so.
 */
export async function keepRefused<T>({ stream, stage }: Turn, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (thrown) {
    if (thrown instanceof ResponseError) await discardStage(stage);
    // An answer without pages is never continued: there is nothing to keep.
    if (!stream.paginated) throw thrown;
    if (thrown instanceof ContractError) throw thrown.withHint(`${thrown.hint} ${await keepOnce(stage)}`);
    if (thrown instanceof KeyMisfitError)
      throw thrown.withHint(`${thrown.hint} The pages are kept for 24 h.`);
    throw thrown;
  }
}

/** Keeps pages that are refused for the first time; returns what happened to them, as a sentence. */
async function keepOnce(folder: string): Promise<string> {
  const staged = await readStage(folder);
  if (staged?.scan.refused === true) {
    await discardStage(folder);
    return 'The pages are dropped, as they were refused before: the next run reads them again.';
  }
  if (staged !== undefined) await markRefused(folder, staged.scan);
  return 'The pages are kept for the next run, if it comes within 24 h.';
}
