import { openQuotaLedger } from '../../../state/quota-ledger.ts';
import { toAbortError } from '../../model/abort.ts';
import type { AccountSource } from '../../model/account.ts';
import type { Clock } from '../../model/clock.ts';
import { type SyncError, toSyncError } from '../../model/errors.ts';
import { findTryLater, listErrors } from '../../model/outage.ts';
import type { ProgressEvent } from '../../model/progress.ts';
import type { OpenQuotaStore, QuotaStore } from '../../model/quota.ts';
import { type ReportedError, type RunReport, toReportedError } from '../../model/run-report.ts';
import { type RunObserver, tellEnd } from '../../model/run-observer.ts';
import type { Settings, SyncOptions } from '../../model/settings.ts';
import type { FollowedRun } from '../../model/telemetry.ts';
import { buildLostLeaseError, type StateLock, type TakeStateLock } from '../../model/state-lock.ts';
import { nameKey } from '../../model/hash-key.ts';
import { readSourceRecord } from '../../../state/source-record.ts';
import type { StoredSource } from '../database/leases.ts';
import { type QuotaMark, TravellingLedger } from '../quota/travelling-ledger.ts';
import type { LaneEnd, LaneQuestion, LaneRun } from './messages.ts';
import { isServer, moveToScratch } from './scratch-settings.ts';
import { StagePuts } from './stage-puts.ts';
import { readToken, type StateTravel, TravellingState } from './travelling-state.ts';

/** What a sync gets besides settings and options. */
export interface SyncEffects {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly takeLock: TakeStateLock;
  readonly observers: readonly RunObserver[];
  /** How the quota of a key is opened that others share. */
  readonly openQuotaStore?: OpenQuotaStore;
}

/** What a lane uses for its runs. */
export interface LaneTools extends StateTravel {
  /** Absolute path of the lane's own folder. */
  readonly scratch: string;
  /** Absolute path of the folder with the engine's extensions, of all lanes. */
  readonly extensions: string;
  readonly putEveryPages: number;
  loadSettings(account: string): Promise<Settings>;
  runSync(settings: Settings, options: SyncOptions & SyncEffects): Promise<RunReport>;
  /** Opens the quota of a key that others share. */
  readonly openSharedQuota: OpenQuotaStore;
  /** Makes the spans of a run that begins now, where they are wanted. */
  followTraces(run: FollowedRun): readonly RunObserver[];
  /** What could not be sent of earlier runs. */
  takeTraceWarnings(): readonly string[];
  /** Sends the notices of a run; returns what failed. */
  notify(settings: Settings, ended: EndedOfAccount): Promise<readonly string[]>;
}

/** How a run ended, for its notices. */
export interface EndedOfAccount {
  readonly account: string;
  readonly report: RunReport | undefined;
  readonly error: ReportedError | undefined;
}

/** The worker, as a run sees it. */
export interface LaneWorker {
  /** Records what the question says; whether the lease is still held. */
  ask(question: LaneQuestion): Promise<boolean>;
  /** Aborts when the lease is lost: nothing is committed or published from then on. */
  readonly lost: AbortSignal;
  /** Aborts when the worker stops: whole pages are kept. */
  readonly stop: AbortSignal;
}

/** What the settings said, once they could be read. */
interface Ran {
  readonly report: RunReport | undefined;
  readonly error: SyncError | undefined;
  readonly settings: Settings | undefined;
}

/**
 * One run of an account on this machine: fetches its state, syncs in a scratch folder, puts the state away. Nothing that
 * counts is changed: the worker commits what this returns.
 */
export class AccountRun {
  readonly #tools: LaneTools;
  readonly #run: LaneRun;
  readonly #worker: LaneWorker;
  readonly #state: TravellingState;
  readonly #warnings: string[] = [];
  /** Objects with pages that were put away, and the streams in them where that is known. */
  #stages: readonly { readonly name: string; readonly folders: readonly string[] | undefined }[];
  /** Pages that may be recorded, though the answer was no or got lost: who has the account next counts on them. */
  readonly #offered = new Set<string>();
  #object: string | undefined;
  #source: StoredSource | undefined;
  /** The state folder has what the account had: it may be put away. */
  #isFetched = false;

  constructor(tools: LaneTools, run: LaneRun, worker: LaneWorker) {
    this.#tools = tools;
    this.#run = run;
    this.#worker = worker;
    this.#state = new TravellingState(tools, { ...run, scratch: tools.scratch });
    this.#stages = run.stages.map((name) => ({ name, folders: undefined }));
  }

  /** Never throws. */
  async execute(): Promise<LaneEnd> {
    const { account, token } = this.#run;
    const startedAtMs = this.#tools.clock.now();
    const traces = this.#tools.followTraces({ account, token });
    const { end, ran } = await this.#syncAndPut(traces);
    const { report, error } = ran;
    const ended = report === undefined ? { error: error ?? toSyncError(end.error) } : { report };
    const warnings = [...end.warnings, ...(await tellEnd(traces, { startedAtMs, ...ended }))];
    return { ...end, warnings: [...new Set([...warnings, ...this.#tools.takeTraceWarnings()])] };
  }

  async #syncAndPut(traces: readonly RunObserver[]): Promise<{ readonly end: LaneEnd; readonly ran: Ran }> {
    const ran = await this.#sync(traces).catch((thrown: unknown): Ran => ({
      report: undefined,
      error: toSyncError(thrown),
      settings: undefined,
    }));
    try {
      const object = await this.#put(ran);
      return { end: this.#describe(ran, object), ran };
    } catch (thrown) {
      // What was synced is lost with its scratch folder; the next run continues from what was put away before.
      const lost = { ...ran, report: undefined, error: toSyncError(thrown) };
      return { end: this.#describe(lost, undefined), ran: lost };
    }
  }

  /** Removes what nobody needs after the end was committed, or refused. Never throws. */
  async cleanUp(isAccepted: boolean): Promise<void> {
    try {
      if (isAccepted) await this.#removeReplaced();
      else await this.#state.removeRefused(this.#offered);
    } catch {
      // They cost room only; the next run after a takeover removes them.
    }
    await this.#state.clear().catch(() => undefined);
  }

  async #removeReplaced(): Promise<void> {
    const { object, stages, isTakeover } = this.#run;
    const kept = this.#object;
    // Without a new object, the pages that were put away still count.
    if (kept === undefined) return;
    await this.#state.removeOld(kept, [...(object === undefined ? [] : [object]), ...stages]);
    if (isTakeover) await this.#state.removeOrphans(kept, this.#run);
  }

  async #sync(traces: readonly RunObserver[]): Promise<Ran> {
    const { run, tools, worker } = { run: this.#run, tools: this.#tools, worker: this.#worker };
    await this.#state.fetch(run.object, run.stages);
    this.#isFetched = true;
    const places = { stateDir: this.#state.stateDir, extensions: tools.extensions };
    const settings = moveToScratch(await tools.loadSettings(run.account), places);
    const signal = AbortSignal.any([worker.stop, worker.lost]);
    if (signal.aborted) throw toAbortError(signal);
    const puts = new StagePuts(tools.putEveryPages, () => this.#putStage());
    const warn: RunObserver = { name: 'the log', onEvent: (event) => this.#keepWarning(event) };
    try {
      const report = await tools.runSync(settings, {
        clock: tools.clock,
        signal,
        maxWaitMs: 0,
        ofAccount: { name: run.account, byKey: groupByKey(run.alike), isOfFleet: true },
        acceptNewKey: run.acceptsNewKey,
        takeLock: () => Promise.resolve(this.#makeLock()),
        observers: [puts, warn, ...traces],
        openQuotaStore: (place) => this.#openLedger(place, nameKey(settings)),
      });
      return { report, error: undefined, settings };
    } catch (thrown) {
      return { report: undefined, error: toSyncError(thrown), settings };
    } finally {
      await puts.settle();
    }
  }

  #openLedger(place: Parameters<OpenQuotaStore>[0], key: string): QuotaStore {
    const { object, token, quotas, sharesKey } = this.#run;
    const { clockLeadMs } = this.#state;
    const ofKey = quotas.filter((mark) => (mark.key ?? key) === key);
    const ledger = sharesKey ? this.#tools.openSharedQuota(place) : openQuotaLedger(place);
    return new TravellingLedger(ledger, {
      // What is shared does not travel: a killed run is counted there.
      isStale: !sharesKey && token > 1 && readToken(object ?? '') !== token - 1,
      marks: ofKey.map((mark) => moveMark(mark, -clockLeadMs)),
      note: async (mark) => {
        await this.#worker.ask({ kind: 'quota', mark: { ...moveMark(mark, clockLeadMs), key } });
      },
    });
  }

  /** The lease stands for the lock of the state folder, which nobody else has. */
  #makeLock(): StateLock {
    const { token, isTakeover, account } = this.#run;
    const ask = async (question: LaneQuestion) => {
      if (this.#worker.lost.aborted || !(await this.#worker.ask(question)))
        throw buildLostLeaseError(account);
    };
    return {
      lost: this.#worker.lost,
      lease: {
        token,
        isTakeover,
        confirm: () => ask({ kind: 'held' }),
        settle: () => ask({ kind: 'settled' }),
      },
      release: () => Promise.resolve(),
    };
  }

  async #put({ report, error, settings }: Ran): Promise<LaneEnd['object']> {
    if (!this.#isFetched || settings === undefined || this.#worker.lost.aborted) return undefined;
    if (!(await this.#worker.ask({ kind: 'held' }))) throw buildLostLeaseError(this.#run.account);
    const ended = { account: this.#run.account, report, error: error && toReportedError(error) };
    // Before the state is put away, which remembers what was sent.
    this.#warnings.push(...(await this.#tools.notify(settings, ended)));
    // A run that was stopped, or whose publish failed, has committed what no destination has yet.
    const leavesRows = settings.destinations
      .filter(isServer)
      .some(({ kind }) => report?.published?.[kind] !== undefined);
    this.#source = readSourceRecord(this.#state.stateDir);
    const object = await this.#state.put(leavesRows, this.#worker);
    this.#object = object.name;
    return object;
  }

  async #putStage(): Promise<void> {
    try {
      const put = await this.#state.putStage();
      if (put === undefined) return;
      // A stream that was committed since has no stage any more, and its rows are not put away yet.
      const kept = this.#stages.filter(
        ({ folders }) => folders === undefined || !folders.every((one) => put.folders.includes(one)),
      );
      const stages = [...kept, put];
      const names = stages.map(({ name }) => name);
      this.#offered.add(put.name);
      if (await this.#worker.ask({ kind: 'stages', stages: names })) this.#stages = stages;
    } catch (thrown) {
      this.#warnings.push(
        `pages could not be put away, so that a kill would cost more: ${toSyncError(thrown).message}`,
      );
    }
  }

  #keepWarning(event: ProgressEvent): void {
    if (event.type === 'warning') this.#warnings.push(event.message);
  }

  #describe({ report, error }: Ran, object: LaneEnd['object']): LaneEnd {
    const reported = error === undefined ? report?.error : toReportedError(error);
    const errors = report === undefined ? (reported === undefined ? [] : [reported]) : listErrors(report);
    const exitCode = report?.exitCode ?? error?.exitCode ?? 1;
    const resumeMs = findTryLater(exitCode, errors)?.notBeforeMs;
    return {
      exitCode,
      report,
      error: reported ?? errors[0],
      resumeInMs: resumeMs === undefined ? undefined : resumeMs - this.#tools.clock.now(),
      object,
      source: report === undefined ? undefined : this.#source,
      warnings: [...new Set(this.#warnings)],
    };
  }
}

function moveMark({ remaining, resetAtMs }: QuotaMark, byMs: number): QuotaMark {
  return { remaining, resetAtMs: resetAtMs + byMs };
}

function groupByKey(sources: readonly AccountSource[]): ReadonlyMap<string, readonly AccountSource[]> {
  return Map.groupBy(sources, ({ key }) => key);
}
