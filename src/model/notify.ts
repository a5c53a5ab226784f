/** The events of a run that people can be notified of. */
export const notifyEvents = ['failure', 'success', 'drift', 'schema-change', 'key-expiry'] as const;
export type NotifyEvent = (typeof notifyEvents)[number];

/** The setting below `notify` for the target of an event. */
export const keyOfEvent: Readonly<Record<NotifyEvent, string>> = {
  failure: 'onFailure',
  success: 'onSuccess',
  drift: 'onDrift',
  'schema-change': 'onSchemaChange',
  'key-expiry': 'onKeyExpiry',
};

/** Where a notice goes. */
export type NotifyTarget = WebhookTarget | CommandTarget;

export interface WebhookTarget {
  readonly kind: 'webhook';
  /** `https:`, or `http:` to this machine; its path may be a secret. */
  readonly url: URL;
}

/** A program that is started without a shell. */
export interface CommandTarget {
  readonly kind: 'command';
  readonly program: string;
  readonly args: readonly string[];
  /** Absolute; the folder of the config file. */
  readonly cwd: string;
}

/** The target of each event; events without one are missing. */
export type NotifyRules = Readonly<Partial<Record<NotifyEvent, NotifyTarget>>>;

// A short path such as /hook is a word, which would be masked everywhere.
const LEAST_SECRET = 12;

/** The parts of webhook addresses that may be secrets: anyone who knows one can post there. */
export function listWebhookSecrets(rules: NotifyRules): readonly string[] {
  return Object.values(rules).flatMap((target) => {
    const secret = target.kind === 'webhook' ? `${target.url.pathname}${target.url.search}` : '';
    return secret.length >= LEAST_SECRET ? [secret] : [];
  });
}
