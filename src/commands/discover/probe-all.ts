import { countAffordable, sortByUse } from '../../discover/choose-probes.ts';
import { countProbes, type ParamPlan } from '../../discover/plan-probes.ts';
import type { LeftOutParam, ParamFinding, ProbeOutcome } from '../../model/discover-report.ts';
import { AbortedError, type SyncError, toSyncError } from '../../model/errors.ts';
import type { QuotaRoom } from '../../model/quota.ts';
import type { ReportedError } from '../../model/run-report.ts';
import type { Stream } from '../../model/stream.ts';
import { findRoom, reportLeftOut } from './probe-budget.ts';

/** What was spent before the probes are confirmed. */
export interface SampledSoFar {
  readonly requestsSpent: number;
  readonly quotaLeft: number | undefined;
  /** The most requests that trying every parameter takes; the limits may allow fewer. */
  readonly wanted: number;
  /** When the quota has room for more, epoch ms. */
  readonly returnsAtMs: number | undefined;
}

/** Asked once, with the most requests that the limits allow. */
export type ConfirmProbes = (mostRequests: number, sampled: SampledSoFar) => Promise<boolean>;

/** One stream's parameters to try, and the findings about them. */
export interface Probing {
  readonly stream: Stream;
  readonly plans: readonly ParamPlan[];
  readonly params: ParamFinding[];
}

/** Requests of this call so far, and what the quota allows. */
export type ReadSpent = () => Promise<{ readonly requests: number; readonly quota: QuotaRoom | undefined }>;

/** What probing depends on, and how it calls the API. */
export interface ProbeEffects<T extends Probing> {
  readonly confirmProbes: ConfirmProbes | undefined;
  readonly maxRequests: number | undefined;
  readonly readSpent: ReadSpent;
  readonly probe: (one: T, plan: ParamPlan) => Promise<ParamFinding>;
  readonly report: (error: SyncError) => ReportedError;
}

/** Tries as many parameters as the limits allow, if wanted, and reports those left out. */
export async function probeAll<T extends Probing>(
  streams: readonly T[],
  { confirmProbes, maxRequests, readSpent, probe, report }: ProbeEffects<T>,
): Promise<ProbeOutcome> {
  const asked = sortByUse(streams.flatMap((one) => one.plans.map((plan) => ({ one, plan }))));
  const plans = asked.map(({ plan }) => plan);
  const mostRequests = countAffordable(plans, Infinity);
  if (mostRequests === 0) return { state: 'nothing-to-ask', mostRequests, error: undefined };
  const { requests: requestsSpent, quota } = await readSpent();
  const room = findRoom(quota, maxRequests, requestsSpent);
  const affordable = countAffordable(plans, room.requests);
  const { returnsAtMs } = room;
  const told = { requestsSpent, quotaLeft: quota?.requests, wanted: mostRequests, returnsAtMs };
  const base = { mostRequests, ...(affordable < mostRequests && { affordable }) };
  if (confirmProbes === undefined) return { ...base, state: 'not-asked', error: undefined };
  // Asks nothing if there is nothing to confirm.
  if (affordable > 0 && !(await confirmProbes(affordable, told)))
    return { ...base, state: 'not-asked', error: undefined };

  const leftOut: LeftOutParam[] = [];
  let stopped: SyncError | undefined;
  for (const { one, plan } of asked) {
    const left = affordable - ((await readSpent()).requests - requestsSpent);
    let finding: ParamFinding | undefined;
    try {
      if (stopped === undefined && countProbes(plan) <= left) finding = await probe(one, plan);
    } catch (thrown) {
      stopped = toSyncError(thrown);
      if (stopped instanceof AbortedError) throw stopped;
    }
    one.params.push(finding ?? { param: plan.param, verdict: 'undecided', evidence: ['not asked'] });
    if (finding === undefined) leftOut.push({ stream: one.stream.name, param: plan.param });
  }
  const state = affordable === 0 ? 'not-asked' : 'asked';
  if (leftOut.length === 0) return { ...base, state, error: undefined };
  const error = stopped === undefined ? reportLeftOut(leftOut, mostRequests, room) : report(stopped);
  return { ...base, state, leftOut, error };
}
