import type { Clock } from '../model/clock.ts';
import type { NotifyEvent, NotifyTarget } from '../model/notify.ts';
import { listDestinationSecrets } from '../model/destination-secrets.ts';
import { keyOfEvent, listWebhookSecrets } from '../model/notify.ts';
import { escapeForTerminal, redact, redactDeep } from '../text/redact.ts';
import type { Settings } from '../model/settings.ts';
import { version } from '../model/version.ts';
import { type AccountsMessage, buildMessage, type NoticeMessage } from './build-message.ts';
import { findNotices } from './find-notices.ts';
import type { EndedRun } from './notice.ts';
import { isDue, readNoticeMemory, remember, writeNoticeMemory } from './notice-memory.ts';
import { type PostJson, postJson, postWebhook } from './post-webhook.ts';
import { runCommand } from './run-command.ts';

/** What sending notices may use of the outside world. */
export interface NotifyEffects {
  readonly clock: Clock;
  /** Passed to commands, without variables that hold a secret of Sluice. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Stops what is in progress. */
  readonly signal?: AbortSignal | undefined;
  readonly post?: PostJson | undefined;
}

export type NotifySettings = Pick<
  Settings,
  'notify' | 'hashKey' | 'destinations' | 'baseUrl' | 'stateDir' | 'keyExpiresAt'
> &
  Partial<Pick<Settings, 'credentials'>> & { readonly keyExpiryWarning: string | undefined };

/**
 * Sends the notices of a run that the config asks for. Returns those that failed, as warnings: a failed
 * notice never changes the outcome of the run. Never throws.
 */
export async function notifyRun(
  settings: NotifySettings,
  run: EndedRun,
  effects: NotifyEffects,
): Promise<readonly string[]> {
  const { notify, stateDir } = settings;
  if (Object.keys(notify).length === 0) return [];
  const day = new Date(effects.clock.now()).toISOString().slice(0, 10);
  const memory = readNoticeMemory(stateDir);
  const { keyExpiryWarning, keyExpiresAt } = settings;
  const found = findNotices(run, { keyExpiry: keyExpiryWarning, keyExpiresAt });
  const secrets = listSecrets(settings);
  const facts = { source: settings.baseUrl.host, version };
  const outcomes = await Promise.all(
    found.flatMap((notice) => {
      const target = notify[notice.event];
      if (target === undefined || !isDue(memory, notice, day)) return [];
      const message = redactDeep(buildMessage(notice, run, facts), secrets);
      return [sendNotice(target, message, secrets, effects).then((flaw) => ({ notice, flaw }))];
    }),
  );
  const told = outcomes.filter(({ flaw }) => flaw === undefined).map(({ notice }) => notice);
  const warnings = outcomes.flatMap(({ notice, flaw }) =>
    flaw === undefined ? [] : [describeFlaw(notice.event, flaw)],
  );
  return [...warnings, ...keepMemory(stateDir, memory, remember(memory, found, told, day))];
}

/** A notice that could not be sent, as a warning. */
export function describeFlaw(event: NotifyEvent, flaw: string): string {
  return `notify.${keyOfEvent[event]} failed: ${flaw}; the run is not affected`;
}

type Memory = ReturnType<typeof remember>;

/** Writes down which notices were sent; returns what went wrong, as warnings. */
export function keepMemory(stateDir: string, before: Memory, next: Memory): readonly string[] {
  if (JSON.stringify(next) === JSON.stringify(before)) return [];
  try {
    writeNoticeMemory(stateDir, next);
    return [];
  } catch (thrown) {
    const cause = thrown instanceof Error ? thrown.message : String(thrown);
    return [`the sent notices could not be recorded, so they may be sent again: ${cause}`];
  }
}

/** Sends one message; returns what went wrong. */
export async function sendNotice(
  target: NotifyTarget,
  message: NoticeMessage | AccountsMessage,
  secrets: readonly string[],
  { clock, env, signal, post = postJson }: NotifyEffects,
): Promise<string | undefined> {
  const text = JSON.stringify(message);
  if (target.kind === 'webhook') {
    const sleep = (ms: number, until: AbortSignal) => clock.sleep(ms, until);
    return postWebhook(target, text, { post, sleep, signal });
  }
  const flaw = await runCommand(target, { text, env: buildEnvironment(env, message, secrets), signal });
  return flaw && redact(escapeForTerminal(redact(flaw, secrets)), secrets);
}

/** What no message and no program of a notice may show. */
export function listSecrets({
  credentials,
  hashKey,
  notify,
  destinations,
}: NotifySettings): readonly string[] {
  return [
    ...(credentials === undefined ? [] : [credentials.secret]),
    ...(hashKey === undefined ? [] : [hashKey]),
    ...listWebhookSecrets(notify),
    ...listDestinationSecrets(destinations),
  ];
}

/** The environment of a command: ours without secrets of Sluice, plus the facts of the run. */
function buildEnvironment(
  env: NotifyEffects['env'],
  { event, runId, exitCode, summary }: NoticeMessage | AccountsMessage,
  secrets: readonly string[],
): Readonly<Record<string, string | undefined>> {
  const kept = Object.entries(env).filter(
    ([, value]) => value !== undefined && redact(value, secrets) === value,
  );
  return {
    ...Object.fromEntries(kept),
    SLUICE_NOTIFY_EVENT: event,
    SLUICE_NOTIFY_RUN_ID: runId ?? '',
    SLUICE_NOTIFY_EXIT_CODE: String(exitCode),
    SLUICE_NOTIFY_SUMMARY: summary,
  };
}
