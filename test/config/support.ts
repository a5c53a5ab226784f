import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connectors } from '../../connectors/registry.ts';
import { loadConfig, type LoadedConfig } from '../../src/config/load-config.ts';
import { resolveSettings, type SettingsOverrides } from '../../src/config/resolve-settings.ts';
import { ConfigError } from '../../src/model/errors.ts';
import type { Settings } from '../../src/model/settings.ts';
import { afterFile } from '../support/after-file.ts';

/** Environment with a valid key and a home folder, which exists. */
export const validEnv = { ANALYTICS_API_KEY: 'sk-live-0123456789', HOME: import.meta.dirname };

/** A new folder of its own, removed when the test file is done. */
export function makeFolder(name = 'config'): string {
  const made = mkdtempSync(path.join(tmpdir(), 'sluice-config-'));
  afterFile(() => {
    rmSync(made, { recursive: true });
  });
  const folder = path.join(made, name);
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** Writes a config file into a new folder and returns its path. */
export function writeConfig(
  text: string | Uint8Array,
  fileName = 'sluice.yaml',
  folderName?: string,
): string {
  const file = path.join(makeFolder(folderName), fileName);
  writeFileSync(file, text);
  return file;
}

/** A complete config: `source` and `rest` are more lines for it. */
export function configText(rest = '', source = '', duckdb = './warehouse.duckdb'): string {
  return `source:
  connector: analytics-read
  baseUrl: https://analytics.example.com/api/v1
  apiKey: \${ANALYTICS_API_KEY}
${source}destination:
  duckdb: ${duckdb}
${rest}`;
}

/** Loads a config text. */
export function load(
  text: string,
  env: Readonly<Record<string, string | undefined>> = validEnv,
  secrets: 'required' | 'optional' = 'required',
): LoadedConfig {
  return loadConfig({ path: writeConfig(text), env, secrets });
}

/** Loads a config text and resolves its settings. */
export function resolve(
  text: string,
  options: {
    readonly env?: Readonly<Record<string, string | undefined>>;
    readonly now?: string;
    readonly platform?: NodeJS.Platform;
    readonly overrides?: SettingsOverrides;
  } = {},
): Settings {
  const env = options.env ?? validEnv;
  return resolveSettings({
    loaded: load(text, env),
    connectors,
    env,
    nowMs: Date.parse(options.now ?? '2026-03-01T12:00:00Z'),
    platform: options.platform ?? 'linux',
    ...(options.overrides === undefined ? {} : { overrides: options.overrides }),
  });
}

/** The ConfigError that an action throws. */
export function catchConfigError(action: () => unknown): ConfigError {
  try {
    action();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

/** An error's message and hint without the temporary folder's name. */
export function problemsOf(action: () => unknown): readonly string[] {
  return catchConfigError(action)
    .message.split('\n')
    .map((line) => line.trim().replace(/^\S*sluice\.yaml/, 'sluice.yaml'));
}
