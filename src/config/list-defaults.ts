import { configDefaults } from '../model/config.ts';
import type { OfflineSettings } from '../model/settings.ts';
import type { CursorRule, KeyRule, Stream } from '../model/stream.ts';
import { perHour } from '../model/quota.ts';
import type { ConfigEntry } from './config-entry.ts';
import type { Scalar } from './interpolate.ts';

/** Every setting with its default; the caller leaves out those that are set. */
export function listDefaults(settings: OfflineSettings): readonly ConfigEntry[] {
  const { quotaLimits } = settings;
  return [
    {
      key: 'source.quota.requestsPerHour',
      value: perHour(quotaLimits.defaultPerWindow, quotaLimits.windowMs),
      origin: 'connector',
      detail: 'until a response shows the limit',
    },
    fromConnector('source.quota.burstPerSecond', quotaLimits.burstPerSecond),
    byDefault('source.quota.reserve', quotaLimits.reserve),
    byDefault('source.quota.ledgerDir', settings.ledgerDir),
    byDefault('source.arrayParams', settings.arrayParams),
    byDefault('stateDir', settings.stateDir),
    byDefault('defaults.lookback', toDurationText(configDefaults.lookbackMs)),
    byDefault('defaults.contract', 'evolve'),
    byDefault('defaults.deletes', 'keep'),
    byDefault('defaults.history', false),
    byDefault('defaults.decimals', 'double'),
    byDefault('defaults.freshness', toDurationText(configDefaults.freshnessMs)),
    byDefault('defaults.fullRefreshEvery', toDurationText(configDefaults.fullRefreshEveryMs)),
    byDefault('defaults.skipUnchanged', false),
    byDefault('audit', true),
    byDefault('defaults.maxInvalidRatio', configDefaults.maxInvalidRatio),
    byDefault('defaults.maxDeleteRatio', configDefaults.maxDeleteRatio),
    byDefault('retention.archive', toDurationText(configDefaults.retentionArchiveMs)),
    byDefault('retention.lake', toDurationText(configDefaults.retentionLakeMs)),
    byDefault('retention.quarantine', toDurationText(configDefaults.retentionQuarantineMs)),
    byDefault('retention.runs', toDurationText(configDefaults.retentionRunsMs)),
    ...settings.streams.flatMap((stream) => listStreamDefaults(stream, settings)),
  ];
}

function listStreamDefaults(stream: Stream, settings: OfflineSettings): readonly ConfigEntry[] {
  const isBuiltIn = settings.connector.streams.some(({ name }) => name === stream.name);
  const key = (name: string) => `streams.${stream.name}.${name}`;
  return [
    byDefault(key('enabled'), true),
    fromConnector(key('path'), stream.path),
    isBuiltIn
      ? fromConnector(key('paginated'), stream.paginated)
      : byDefault(key('paginated'), stream.paginated),
    fromConnector(key('pageSize'), stream.pageSize),
    byDefault(key('key'), toKeyText(stream.key)),
    byDefault(key('cursor'), toCursorText(stream.cursor)),
    byDefault(key('write'), stream.write),
  ];
}

function toKeyText(key: KeyRule): string {
  return key.kind === 'auto' ? 'auto' : key.fields.join(', ');
}

function toCursorText(cursor: CursorRule): string | boolean {
  if (cursor.kind === 'off') return false;
  return cursor.kind === 'auto' ? 'auto' : cursor.field;
}

function byDefault(key: string, value: Scalar): ConfigEntry {
  return { key, value, origin: 'default', detail: '' };
}

function fromConnector(key: string, value: Scalar): ConfigEntry {
  return { key, value, origin: 'connector', detail: '' };
}

/** A duration as a config would write it: `3d`, `1h`. */
function toDurationText(ms: number): string {
  if (ms % 86_400_000 === 0) return `${ms / 86_400_000}d`;
  return ms % 3_600_000 === 0 ? `${ms / 3_600_000}h` : `${ms / 1_000}s`;
}
