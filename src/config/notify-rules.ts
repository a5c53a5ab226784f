import path from 'node:path';
import type { Config } from '../model/config.ts';
import type { CommandTarget, NotifyEvent, NotifyRules, NotifyTarget } from '../model/notify.ts';
import { isLoopback } from '../text/loopback.ts';
import type { LoadedConfig } from './load-config.ts';
import { buildConfigError } from './problem.ts';

type NotifyKey = keyof NonNullable<Config['notify']>;

const eventsByKey = {
  onFailure: 'failure',
  onSuccess: 'success',
  onDrift: 'drift',
  onSchemaChange: 'schema-change',
  onKeyExpiry: 'key-expiry',
} as const satisfies Readonly<Record<NotifyKey, NotifyEvent>>;

const hint =
  'Give a webhook (https://…), a program (./tell.sh), or a program with its arguments as a list: [./tell.sh, data-team].';

/** Reads the notices to send; throws a ConfigError for an impossible address or command. */
export function readNotifyRules(loaded: LoadedConfig): NotifyRules {
  const given = Object.entries(loaded.config.notify ?? {}) as [NotifyKey, string | readonly string[]][];
  return Object.fromEntries(
    given
      // Empty text comes from a placeholder for a webhook that is not set.
      .filter(([, value]) => typeof value !== 'string' || value.trim() !== '')
      .map(([key, value]) => [eventsByKey[key], readTarget(key, value, loaded)]),
  );
}

function readTarget(key: NotifyKey, value: string | readonly string[], loaded: LoadedConfig): NotifyTarget {
  if (typeof value !== 'string') return readCommand(value, loaded);
  const text = value.trim();
  // The text is never shown: anyone who knows the path of a webhook can post to it.
  const fail = (message: string) => buildConfigError([{ path: ['notify', key], message, hint }], loaded);
  if (!isWebhook(text)) {
    // Splitting a line into words needs a shell, and a shell would run anything injected into the line.
    if (/\s/.test(text)) throw fail('must be one word; a program with arguments is a list');
    return readCommand([text], loaded);
  }
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw fail('must be a complete URL');
  if (url.username !== '' || url.password !== '') throw fail('must not contain a user name or password');
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    throw fail('must start with https://: http:// can be read by anyone on the way');
  return { kind: 'webhook', url };
}

/** Whether a text names a webhook and not a program. */
export function isWebhook(text: string): boolean {
  return /^\s*https?:/i.test(text);
}

function readCommand([program = '', ...args]: readonly string[], { baseDir }: LoadedConfig): CommandTarget {
  // A name without a slash is looked up in PATH, as in a shell.
  const isPath = /[/\\]/.test(program);
  return { kind: 'command', program: isPath ? path.resolve(baseDir, program) : program, args, cwd: baseDir };
}
