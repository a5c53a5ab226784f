import type { OfflineSettings } from '../model/settings.ts';
import { formatPath } from './config-path.ts';
import type { ConfigEntry } from './config-entry.ts';
import type { ConfigLeaf } from './interpolate.ts';
import { listDefaults } from './list-defaults.ts';
import type { LoadedConfig } from './load-config.ts';
import { isWebhook } from './notify-rules.ts';
import type { SettingsOverrides } from './resolve-settings.ts';
import { isSecretPath } from './secret-paths.ts';

/** Every effective setting with its origin: those of the config, and the defaults for the rest. */
export function explainConfig(
  loaded: LoadedConfig,
  settings: OfflineSettings,
  overrides: SettingsOverrides = {},
): readonly ConfigEntry[] {
  const flags = listOverrides(overrides);
  const flagged = new Set(flags.map(({ key }) => key));
  const written = loaded.leaves
    // A section with all lines commented out sets nothing.
    .filter(({ value, placeholders }) => (value ?? null) !== null || placeholders.length > 0)
    .map((leaf) => explainLeaf(leaf, loaded))
    .filter(({ key }) => !flagged.has(key));
  const given = [...flags, ...written];
  const rest = listDefaults(settings)
    .filter(({ key }) => !given.some((entry) => isAtOrIn(entry.key, key)))
    // Some defaults follow from what was given, e.g. a folder in the state folder.
    .map((entry) => (namesCredential(entry.value, loaded) ? { ...entry, value: MASK } : entry));
  // Sorting is stable: within a section, what was given comes before the defaults.
  return [...given, ...rest].sort((a, b) => sectionRank(a.key) - sectionRank(b.key));
}

const MASK = '***';
const sections = [
  'source',
  'destination',
  'engine',
  'stateDir',
  'defaults',
  'audit',
  'retention',
  'notify',
  'streams',
  'fleet',
];

function sectionRank(key: string): number {
  return sections.indexOf(key.split('.', 1)[0] ?? '');
}

function isAtOrIn(key: string, setting: string): boolean {
  return key === setting || key.startsWith(`${setting}.`) || key.startsWith(`${setting}[`);
}

function explainLeaf(leaf: ConfigLeaf, loaded: LoadedConfig): ConfigEntry {
  const value = leaf.value ?? null;
  return {
    key: formatPath(leaf.path),
    value: value !== null && holdsSecret(leaf, loaded) ? MASK : value,
    ...explainOrigin(leaf, loaded),
  };
}

function explainOrigin(leaf: ConfigLeaf, loaded: LoadedConfig): Pick<ConfigEntry, 'origin' | 'detail'> {
  const names = leaf.placeholders.flatMap((item) => (item.kind === 'environment' ? [item.name] : []));
  const files = leaf.placeholders.flatMap((item) => (item.kind === 'file' ? [item.path] : []));
  const detail = [...names, ...files].join(', ');
  if (names.length > 0) return { origin: 'environment', detail };
  if (files.length > 0) return { origin: 'file', detail };
  const line = loaded.locate(leaf.path)?.line;
  const isFile = loaded.fileName !== undefined && line !== undefined;
  return { origin: 'config', detail: isFile ? `${loaded.fileName}:${line}` : '' };
}

// A key may also be in a parameter, or part of another value.
function holdsSecret(leaf: ConfigLeaf, loaded: LoadedConfig): boolean {
  if (isSecretPath(leaf.path)) return true;
  if (leaf.path[0] === 'notify') {
    const text = String(leaf.value);
    return isWebhook(text) || (text !== '' && leaf.placeholders.length > 0);
  }
  const isParam = leaf.path[0] === 'streams' && leaf.path[2] === 'params';
  if (isParam && /key|token|secret|password/i.test(String(leaf.path[3]))) return true;
  return namesCredential(leaf.value, loaded);
}

function namesCredential(value: unknown, loaded: LoadedConfig): boolean {
  const { apiKey, bearerToken } = loaded.config.source;
  const secrets = [apiKey, bearerToken]
    .map((secret) => secret?.trim() ?? '')
    .filter((secret) => secret !== '');
  return secrets.some((secret) => String(value).includes(secret));
}

function listOverrides({ baseUrl, duckdb, stateDir }: SettingsOverrides): readonly ConfigEntry[] {
  const given = { 'source.baseUrl': baseUrl, 'destination.duckdb': duckdb, stateDir };
  return Object.entries(given).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value, origin: 'flag' as const, detail: '' }],
  );
}
