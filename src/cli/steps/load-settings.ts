import { listDestinationSecrets } from '../../model/destination-secrets.ts';
import { listWebhookSecrets } from '../../model/notify.ts';
import type { OfflineSettings, Settings } from '../../model/settings.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import type { ConfigRequest } from '../frame/engine.ts';

/** Where the config is looked for by default. */
export const DEFAULT_CONFIG = './sluice.yaml';

/** Reads the config with its key, and masks the key in all output from then on. */
export async function loadSettings(
  context: CliContext,
  globals: GlobalValues,
  options: Pick<ConfigRequest, 'contracts'> = {},
): Promise<Settings> {
  const settings = await context.engine.loadSettings({ ...requestConfig(context, globals), ...options });
  context.keepSecret(settings.credentials.secret);
  keepSecrets(context, settings);
  return settings;
}

/** Reads the config for a command that works without a key. */
export async function loadOfflineSettings(
  context: CliContext,
  globals: GlobalValues,
  { contracts }: Pick<ConfigRequest, 'contracts'> = {},
): Promise<OfflineSettings> {
  const request = { ...requestConfig(context, globals), ...(contracts && { contracts }) };
  const settings = await context.engine.loadOfflineSettings(request);
  keepSecrets(context, settings);
  return settings;
}

function keepSecrets({ keepSecret }: CliContext, { hashKey, notify, destinations }: OfflineSettings): void {
  if (hashKey !== undefined) keepSecret(hashKey);
  for (const secret of [...listWebhookSecrets(notify), ...listDestinationSecrets(destinations)])
    keepSecret(secret);
}

/** Which config the command line means. */
export function requestConfig(context: CliContext, globals: GlobalValues): ConfigRequest {
  const { account, env, clock } = context;
  const path = globals.config ?? DEFAULT_CONFIG;
  return { path, env, nowMs: clock.now(), ...(account !== undefined && { account }) };
}
