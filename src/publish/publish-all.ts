import { existsSync } from 'node:fs';
import { REWRITE } from '../../state/rewrite-mark.ts';
import { toAbortError } from '../model/abort.ts';
import { LostLockError, PublishError, StorageError, SyncError, toSyncError } from '../model/errors.ts';
import type { OnProgress } from '../model/progress.ts';
import type { RunReport } from '../model/run-report.ts';
import { formatCount } from '../text/format-count.ts';
import type { Database } from '../warehouse/database.ts';
import { DamagedFileError } from '../warehouse/database-errors.ts';
import { checkReadable } from '../warehouse/check-readable.ts';
import { rewriteFile } from '../warehouse/rewrite-file.ts';
import type { ClosedPublisher, Commit, OpenPublisher, Publisher, PublishResult } from './publisher.ts';

/** What is published, the same for all destinations. */
export interface Publishing extends Omit<Commit, 'look' | 'warn'> {
  /** Open on the committed work file. It may be closed afterwards. */
  readonly database: Database;
  /** Absolute path of the work file. */
  readonly file: string;
  /** Throws if the commit found at a place must not be replaced. The work file need not be open. */
  readonly look: (place: string, generation: string | undefined) => Promise<void>;
  readonly emit: OnProgress;
}

/** How publishing ended: of several destinations, some can have failed while the others have the new rows. */
export interface PublishOutcome {
  /** Undefined if nothing was due, or nothing could be published. */
  readonly published: RunReport['published'];
  readonly failure: SyncError | undefined;
}

/** First those that read the open work file, then those that take the file itself. */
export function inPublishOrder(publishers: readonly Publisher[]): readonly Publisher[] {
  return [...publishers.filter(isOpen), ...publishers.filter(isClosed)];
}

/**
 * Publishes a commit to every destination that does not have it yet. Safe to repeat. If one destination fails, the
 * others are still published. Throws for a signal, a lost lock and a damaged work file.
 */
export async function publishAll(
  publishers: readonly Publisher[],
  publishing: Publishing,
): Promise<PublishOutcome> {
  const round = new Round(publishing);
  const due: ClosedPublisher[] = [];
  for (const publisher of publishers.filter(isClosed))
    if (await publisher.isDue(publishing.generation)) due.push(publisher);
  for (const publisher of publishers.filter(isOpen)) await round.publishOpen(publisher);
  if (due.length > 0 && round.failures.length > 0) await reopen(publishing.database);
  for (const publisher of due) await round.publishClosed(publisher);
  if (due.length === 0) await round.rewriteIfPublished();
  return {
    published: round.describe(publishers),
    failure: joinFailures(round.failures, publishers.length),
  };
}

/** A full disk under a destination can make the engine close all its files; the work file itself is intact. */
export async function reopen(database: Database): Promise<void> {
  await database.release();
  await database.reopen();
}

/** One publish to all destinations. */
class Round {
  readonly failures: SyncError[] = [];
  readonly #publishing: Publishing;
  readonly #results = new Map<Publisher, PublishResult>();
  #closing: Promise<void> | undefined;

  constructor(publishing: Publishing) {
    this.#publishing = publishing;
  }

  async publishOpen(publisher: OpenPublisher): Promise<void> {
    const { database: work } = this.#publishing;
    await this.#try(publisher, async () => {
      const begin = () => this.#begin(publisher);
      const result = await publisher.publish({ ...this.#describeCommit(publisher), work, begin });
      if (result !== undefined) this.#end(publisher, result);
    });
  }

  async publishClosed(publisher: ClosedPublisher): Promise<void> {
    const { file } = this.#publishing;
    await this.#try(publisher, async () => {
      this.#begin(publisher);
      if (this.#publishing.mustForget) publisher.promiseToForget?.();
      await this.#close();
      this.#end(publisher, await publisher.publish({ ...this.#describeCommit(publisher), file }));
    });
  }

  /** What was published without a value must not stay in the work file either. */
  async rewriteIfPublished(): Promise<void> {
    const [publisher] = this.#results.keys();
    if (publisher !== undefined && this.#publishing.mustForget)
      await this.#try(publisher, () => this.#close());
  }

  /** The report of the first destination, with what the others add to it. */
  describe(publishers: readonly Publisher[]): RunReport['published'] {
    return publishers
      .toReversed()
      .map((publisher) => this.#results.get(publisher)?.report)
      .reduce((all, report) => (report === undefined ? all : { ...all, ...report }), undefined);
  }

  // A signal and a damaged work file end the run: neither leaves a file that could be copied. So does a lost lock.
  async #try({ place }: Publisher, work: () => Promise<void>): Promise<void> {
    const { signal, lease } = this.#publishing;
    try {
      await work();
    } catch (thrown) {
      if (signal?.aborted === true) throw toAbortError(signal);
      const failure = toSyncError(isOfSystem(thrown) ? describeFailure(place, thrown) : thrown);
      if (failure instanceof DamagedFileError || failure instanceof LostLockError) throw failure;
      // What another machine took away fails in many ways; it says which of them are such.
      await lease?.confirm();
      this.#publishing.emit({ type: 'publish-failed', path: place, code: failure.code });
      // What kept the work file from being closed failed once, for all that need it.
      if (!this.failures.includes(failure)) this.failures.push(failure);
    }
  }

  #describeCommit({ place }: Publisher): Commit {
    const { generation, runId, mustForget, clock, signal, look, lease, emit } = this.#publishing;
    return {
      generation,
      runId,
      mustForget,
      clock,
      signal,
      look: (found) => look(place, found),
      lease,
      warn: (message) => emit({ type: 'warning', message }),
    };
  }

  #begin({ place: path }: Publisher): void {
    this.#publishing.emit({ type: 'publishing', path });
  }

  #end(publisher: Publisher, result: PublishResult): void {
    this.#results.set(publisher, result);
    this.#publishing.emit({ type: 'published', path: publisher.place, bytes: result.bytes });
  }

  /** Closes the work file: checkpointed and, if scheduled, rewritten. */
  #close(): Promise<void> {
    return (this.#closing ??= this.#closeOnce());
  }

  async #closeOnce(): Promise<void> {
    const { database, file, mustForget } = this.#publishing;
    await database.checkpoint();
    // A damaged work file is restored from what is published.
    await checkReadable(database);
    await database.release();
    if (existsSync(`${file}.wal`)) {
      throw new StorageError(`${file} has changes that are not written into it yet`, {
        code: 'storage_failed',
        hint: 'Run again: committed data is safe and will be published then.',
        context: { path: file },
      });
    }
    if (mustForget)
      await rewriteFile(file, (fresh) => fresh.run('DELETE FROM _sluice.meta WHERE key = $1', [REWRITE]));
  }
}

/** Reports all failures together. */
function joinFailures(failures: readonly SyncError[], destinations: number): SyncError | undefined {
  const [first, ...more] = failures;
  if (first === undefined || more.length === 0) return first;
  const which =
    failures.length < destinations
      ? `${formatCount(failures.length)} of ${formatCount(destinations)} destinations could not be published`
      : destinations === 2
        ? 'neither destination could be published'
        : 'no destination could be published';
  return new PublishError(`${which}: ${failures.map(({ message }) => message).join('; ')}`, {
    code: 'publish_failed',
    hint: [...new Set(failures.map(({ hint }) => hint))].join(' '),
    exitCode: failures.every(({ exitCode }) => exitCode === 2) ? 2 : 6,
    cause: new AggregateError(failures),
  });
}

/** Whether the operating system refused something, e.g. for a full disk. */
function isOfSystem(thrown: unknown): thrown is Error {
  return thrown instanceof Error && !(thrown instanceof SyncError) && 'errno' in thrown;
}

function describeFailure(place: string, error: Error): PublishError {
  return new PublishError(`cannot publish ${place}: ${error.message}`, {
    code: 'publish_failed',
    hint: 'Everything synced is committed in the state folder, and what readers see is whole. Fix the cause and run again: publishing needs no request.',
    context: { path: place },
    cause: error,
  });
}

function isOpen(publisher: Publisher): publisher is OpenPublisher {
  return publisher.needs === 'open';
}

function isClosed(publisher: Publisher): publisher is ClosedPublisher {
  return publisher.needs === 'closed';
}
