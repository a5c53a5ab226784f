import type { ExitCode } from '../model/errors.ts';
import type { NotifyEvent } from '../model/notify.ts';
import type { ReportedError } from '../model/run-report.ts';
import { redactDeep } from '../text/redact.ts';
import { version } from '../model/version.ts';
import { buildAccountsMessage, buildJointMessage } from './build-message.ts';
import { findNotices } from './find-notices.ts';
import { type EndedRun, exitCodeOf, keyOfNotice, type Notice } from './notice.ts';
import { isDue, readNoticeMemory, remember } from './notice-memory.ts';
import {
  describeFlaw,
  keepMemory,
  listSecrets,
  type NotifyEffects,
  type NotifySettings,
  sendNotice,
} from './notify-run.ts';

/** One account of a sync, and how it ended. */
export interface NotifiedAccount {
  readonly account: string;
  readonly settings: NotifySettings;
  readonly run: EndedRun;
}

/** How a sync of several accounts ended. */
export interface EndedSync {
  readonly exitCode: ExitCode;
  /** All that the sync was of, also those whose config could not be read. */
  readonly accountCount: number;
  /** What kept a file that joins the accounts from being written. */
  readonly joint?: ReportedError | undefined;
}

/** What an account has to tell, before it is known whether it could be sent. */
interface AccountNotice extends NotifiedAccount {
  readonly notice: Notice;
}

/**
 * Sends the notices of a sync of several accounts: one for each event and target, however many accounts it is about.
 * Returns those that failed, as warnings. Never throws.
 */
export async function notifyAccounts(
  accounts: readonly NotifiedAccount[],
  { exitCode, accountCount, joint }: EndedSync,
  effects: NotifyEffects,
): Promise<readonly string[]> {
  const day = new Date(effects.clock.now()).toISOString().slice(0, 10);
  const holders = joint === undefined ? [] : listFailureTargets(accounts);
  const known = accounts.map((one) => {
    const { found, memory } = findOwn(one);
    return {
      ...one,
      memory,
      found: joint !== undefined && holders.includes(one) ? [...found, describeJoint(joint)] : found,
    };
  });
  const due = known.flatMap(({ memory, found, ...one }) =>
    found.filter((notice) => isDue(memory, notice, day)).map((notice) => ({ ...one, notice })),
  );
  // Also of accounts that no notice names: a program inherits one environment.
  const secrets = [...new Set(accounts.flatMap(({ settings }) => listSecrets(settings)))];
  const facts = { exitCode, joint, accountCount, secrets };
  const sent = await Promise.all(
    groupByTarget(due).map(async (group) => ({ group, flaw: await sendGroup(group, facts, effects) })),
  );
  const told = new Set(
    sent.flatMap(({ group, flaw }) => (flaw === undefined ? group.map(({ notice }) => notice) : [])),
  );
  const warnings = sent.flatMap(({ group: [first], flaw }) =>
    flaw === undefined || first === undefined ? [] : [describeFlaw(first.notice.event, flaw)],
  );
  return [
    ...warnings,
    ...known.flatMap(({ settings, memory, found }) =>
      keepMemory(
        settings.stateDir,
        memory,
        remember(
          memory,
          found,
          found.filter((one) => told.has(one)),
          day,
        ),
      ),
    ),
  ];
}

/** Of the accounts whose failures go to the same target, the first: one of them is enough for what all share. */
function listFailureTargets(accounts: readonly NotifiedAccount[]): readonly NotifiedAccount[] {
  const byTarget = new Map<string, NotifiedAccount>();
  for (const one of accounts) {
    if (one.settings.notify.failure === undefined) continue;
    const target = JSON.stringify(describeTarget(one.settings, 'failure'));
    if (!byTarget.has(target)) byTarget.set(target, one);
  }
  return [...byTarget.values()];
}

function describeJoint({ code, exitCode, message }: ReportedError): Notice {
  const summary = `what joins the accounts was not written: ${message}`;
  return { event: 'failure', summary, sameness: JSON.stringify([exitCode, code]), isJoint: true };
}

/** The notices of an account for which its config names a target. */
function findOwn({ settings, run }: NotifiedAccount) {
  const { notify, stateDir, keyExpiryWarning, keyExpiresAt } = settings;
  const all = findNotices(run, { keyExpiry: keyExpiryWarning, keyExpiresAt });
  const found = all.filter(({ event }) => notify[event] !== undefined);
  return { found, memory: readNoticeMemory(stateDir) };
}

/** Accounts with the same event and target: they share one notice. */
function groupByTarget(due: readonly AccountNotice[]): readonly (readonly AccountNotice[])[] {
  const groups = new Map<string, AccountNotice[]>();
  for (const one of due) {
    const { event } = one.notice;
    const key = JSON.stringify([keyOfNotice(one.notice), describeTarget(one.settings, event)]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [one]);
    else group.push(one);
  }
  return [...groups.values()];
}

function describeTarget({ notify }: NotifySettings, event: NotifyEvent): unknown {
  const target = notify[event];
  return target?.kind === 'webhook' ? target.url.href : target;
}

/** What a message says of the whole sync, and what it must not say. */
interface SyncFacts extends EndedSync {
  /** Of all accounts. */
  readonly secrets: readonly string[];
}

async function sendGroup(
  group: readonly AccountNotice[],
  { secrets, joint, ...facts }: SyncFacts,
  effects: NotifyEffects,
): Promise<string | undefined> {
  const [first] = group;
  if (first === undefined) return undefined;
  const { notice, settings } = first;
  const target = settings.notify[notice.event];
  if (target === undefined) return undefined;
  const same = { ...facts, source: settings.baseUrl.host, version };
  if (notice.isJoint === true) {
    const message = buildJointMessage(notice, joint, same);
    return sendNotice(target, redactDeep(message, secrets), secrets, effects);
  }
  const message = buildAccountsMessage(
    group.map(({ account, notice: { event, summary }, run }) => ({
      account,
      event,
      summary,
      exitCode: exitCodeOf(run),
      runId: run.report?.runId,
      error: findError(run),
    })),
    same,
  );
  return sendNotice(target, redactDeep(message, secrets), secrets, effects);
}

function findError(run: EndedRun): ReportedError | undefined {
  if (run.report === undefined) return run.error;
  return run.report.error ?? run.report.streams.find(({ error }) => error !== undefined)?.error;
}
