import path from 'node:path';
import { configDefaults } from '../model/config.ts';
import type { Connector } from '../model/connector.ts';
import { ConfigError } from '../model/errors.ts';
import { perWindow, type QuotaLimits } from '../model/quota.ts';
import type { OfflineSettings, Settings } from '../model/settings.ts';
import { findBaseUrlWarnings, readBaseUrl } from './base-url.ts';
import { findHashKeyWarnings } from './column-rules.ts';
import { escapeText } from './config-path.ts';
import { findCredentialWarnings, readCredentials } from './credentials.ts';
import { assertDistinctPaths } from './assert-distinct-paths.ts';
import { findExpiryWarnings } from './key-expiry.ts';
import { findHome, findLedgerDir } from './ledger-dir.ts';
import type { LoadedConfig } from './load-config.ts';
import { readNotifyRules } from './notify-rules.ts';
import { buildConfigError } from './problem.ts';
import { findStrayContracts } from './read-contract-schema.ts';
import { resolveStreams } from './resolve-streams.ts';
import { resolvePath, resolveStoragePaths } from './storage-paths.ts';
import { suggestName } from '../text/suggest-name.ts';

/** The input of settings; everything outside the config is an argument. */
export interface ResolveOptions {
  readonly loaded: LoadedConfig;
  readonly connectors: Readonly<Record<string, Connector>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly nowMs: number;
  readonly platform?: NodeJS.Platform;
  readonly overrides?: SettingsOverrides;
  /** `ignored` for a command that writes contract files: a broken one must not prevent that. */
  readonly contracts?: 'read' | 'ignored';
}

/** Values of the command line that win over the config; relative paths start at the current folder. */
export interface SettingsOverrides {
  readonly baseUrl?: string;
  readonly duckdb?: string;
  readonly stateDir?: string;
}

/** Everything a run needs, with the secret read and checked; throws a ConfigError before any request. */
export function resolveSettings(options: ResolveOptions): Settings {
  const settings = resolveOfflineSettings(options);
  return { ...settings, credentials: readCredentials(options.loaded, settings.connector) };
}

/** The same for commands that send no request: a missing key is not an error. */
export function resolveOfflineSettings(options: ResolveOptions): OfflineSettings {
  const { loaded, env, nowMs, overrides = {}, platform = process.platform } = options;
  assertTlsIsVerified(env);
  const { source, retention, defaults } = loaded.config;
  const connector = findConnector(options);
  const baseUrl = readBaseUrl(overrides.baseUrl ?? source.baseUrl, loaded);
  const quotaLimits = readQuotaLimits(loaded, connector);
  const home = findHome(env, platform);
  const paths = resolveStoragePaths(loaded, home, {
    ...(overrides.duckdb === undefined ? {} : { duckdb: path.resolve(overrides.duckdb) }),
    ...(overrides.stateDir === undefined ? {} : { stateDir: path.resolve(overrides.stateDir) }),
  });
  const ledgerDir =
    source.quota?.ledgerDir === undefined
      ? findLedgerDir({ env, platform, stateDir: paths.stateDir })
      : resolvePath(source.quota.ledgerDir, loaded.baseDir, home);
  assertDistinctPaths(loaded, { ...paths, ledgerDir }, platform);
  const streams = resolveStreams(loaded, connector, options.contracts);
  return {
    configPath: loaded.path,
    connector,
    baseUrl,
    arrayParams: source.arrayParams ?? 'comma',
    quotaLimits,
    ledgerDir,
    keyExpiresAt: source.keyExpiresAt,
    ...paths,
    hashKey: defaults?.hashKey,
    notify: readNotifyRules(loaded),
    retention: {
      archiveMs: retention?.archive ?? configDefaults.retentionArchiveMs,
      historyMs: retention?.history,
      quarantineMs: retention?.quarantine ?? configDefaults.retentionQuarantineMs,
      runsMs: retention?.runs ?? configDefaults.retentionRunsMs,
      lakeMs: retention?.lake ?? configDefaults.retentionLakeMs,
    },
    ...streams,
    warnings: [
      ...findStrayContracts(loaded, [...streams.streams.map(({ name }) => name), ...streams.disabledStreams]),
      ...findBaseUrlWarnings(baseUrl, connector),
      ...findExpiryWarnings(source.keyExpiresAt, nowMs, connector),
      ...findCredentialWarnings(loaded, platform),
      ...findHashKeyWarnings(loaded),
    ],
  };
}

function assertTlsIsVerified(env: ResolveOptions['env']): void {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED !== '0') return;
  throw new ConfigError(
    'NODE_TLS_REJECT_UNAUTHORIZED=0 is set: any server could pose as the API and take the key',
    {
      code: 'config_invalid',
      hint: 'Unset it; for a company certificate set NODE_EXTRA_CA_CERTS to its file instead.',
    },
  );
}

function findConnector({ loaded, connectors }: ResolveOptions): Connector {
  const name = loaded.config.source.connector;
  const connector = Object.hasOwn(connectors, name) ? connectors[name] : undefined;
  if (connector !== undefined) return connector;
  const known = Object.keys(connectors);
  const message = `unknown connector "${escapeText(name)}"${suggestName(name, known)}`;
  throw buildConfigError(
    [{ path: ['source', 'connector'], message, hint: `Connectors: ${known.join(', ')}.` }],
    loaded,
  );
}

function readQuotaLimits(loaded: LoadedConfig, connector: Connector): QuotaLimits {
  const { requestsPerHour, burstPerSecond, reserve = 0 } = loaded.config.source.quota ?? {};
  const windowMs = connector.limits.windowSeconds * 1_000;
  const ceilingPerWindow = requestsPerHour === undefined ? undefined : perWindow(requestsPerHour, windowMs);
  if (reserve >= (ceilingPerWindow ?? Infinity))
    throw buildConfigError(
      [
        {
          path: ['source', 'quota', 'reserve'],
          message: 'must be less than requestsPerHour, or no request is left to send',
        },
      ],
      loaded,
    );
  return {
    windowMs,
    ceilingPerWindow,
    defaultPerWindow: connector.limits.requestsPerWindow,
    burstPerSecond: burstPerSecond ?? connector.limits.burstPerSecond,
    reserve,
  };
}
