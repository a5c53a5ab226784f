import { type Config, configDefaults, type StreamConfig } from '../model/config.ts';
import type { Connector, StreamDescription } from '../model/connector.ts';
import type { Contract, ContractMode } from '../model/schema.ts';
import type { CursorRule, Stream } from '../model/stream.ts';
import { orderOf } from '../orders/orders.ts';
import { findColumnProblems, fingerprintRules, readColumnRules } from './column-rules.ts';
import { buildFingerprint, hashRules } from './fingerprint.ts';
import { findSliceProblems, listSlices } from './list-slices.ts';
import { readContractSchema } from './read-contract-schema.ts';
import type { LoadedConfig } from './load-config.ts';
import { buildConfigError, type Problem } from './problem.ts';
import { findNearestName } from '../text/suggest-name.ts';

/** The streams of a config: those to run, and the names of the disabled ones. */
export interface ResolvedStreams {
  readonly streams: readonly Stream[];
  readonly disabledStreams: readonly string[];
}

/** Lays the config over the connector's streams: built-in ones first, then the config's own in its order. */
export function resolveStreams(
  loaded: LoadedConfig,
  connector: Connector,
  contracts: 'read' | 'ignored' = 'read',
): ResolvedStreams {
  const { config } = loaded;
  const configured = Object.entries(config.streams ?? {});
  const builtIn = new Set(connector.streams.map((stream) => stream.name));
  const extras = configured.filter(([name]) => !builtIn.has(name));
  const problems = [
    ...extras.flatMap(([name, stream]) => findExtraProblems(name, stream, [...builtIn])),
    ...configured.flatMap(([name, stream]) => findStreamProblems(name, stream, connector)),
    ...findHistoryProblems([...builtIn, ...extras.map(([name]) => name)], config),
    ...configured.flatMap(([name, stream]) => findSliceProblems(name, stream)),
    ...configured.flatMap(([name, stream]) => findColumnProblems(name, stream, loaded)),
  ];
  if (problems.length > 0) throw buildConfigError(problems, loaded);
  const own = new Map(configured);
  const all = [
    ...connector.streams.map((description) => ({ description, stream: own.get(description.name) })),
    ...extras.map(([name, stream]) => ({ description: describeExtra(name, stream, connector), stream })),
  ];
  const disabledStreams = all
    .filter(({ stream }) => stream?.enabled === false)
    .map(({ description }) => description.name);
  if (disabledStreams.length === all.length)
    throw buildConfigError([{ path: ['streams'], message: 'every stream is disabled; enable one' }], loaded);
  return {
    streams: all
      .filter(({ stream }) => stream?.enabled !== false)
      .map(({ description, stream }) => ({
        ...buildStream(description, stream, loaded, connector),
        contract: readContract(description.name, stream, loaded, contracts),
      }))
      .map((stream) => ({ ...stream, rules: contracts === 'read' ? hashRules(stream) : undefined })),
    disabledStreams,
  };
}

/** The parameter that asks for rows from a date on, where the connector knows one for any stream. */
function findStartParam(connector: Connector): string | undefined {
  return connector.streams.find((stream) => stream.startParam !== undefined)?.startParam;
}

function describeExtra(name: string, stream: StreamConfig, connector: Connector): StreamDescription {
  const startParam = findStartParam(connector);
  return {
    name,
    path: stream.path ?? '',
    paginated: false,
    ...(startParam === undefined ? {} : { startParam }),
  };
}

function buildStream(
  description: StreamDescription,
  own: StreamConfig | undefined,
  loaded: LoadedConfig,
  connector: Connector,
): Omit<Stream, 'contract' | 'rules'> {
  const { config } = loaded;
  const { defaults } = config;
  const requested = {
    path: own?.path ?? description.path,
    paginated: own?.paginated ?? description.paginated,
    recordsPointer: own?.records,
    params: own?.params ?? {},
    pageSize: own?.pageSize ?? connector.limits.maxPageSize,
    key: Array.isArray(own?.key)
      ? ({ kind: 'fields', fields: own.key } as const)
      : ({ kind: 'auto' } as const),
    cursor: readCursor(own?.cursor, description.startParam),
    write: own?.write ?? 'merge',
    columns: readColumnRules(own?.columns),
  };
  const sliceBy = own?.sliceBy ?? [];
  const { arrayParams = 'comma' } = config.source;
  const decimals = own?.decimals ?? defaults?.decimals ?? 'double';
  const rules = fingerprintRules(requested.columns, defaults?.hashKey);
  // As if each column had a rule: no field of config has this name.
  const columns = decimals === 'exact' ? { ...rules, '': { kind: decimals } } : rules;
  const fingerprintOf = (params: Stream['params']) =>
    buildFingerprint({ ...requested, columns, params, sliceBy, arrayParams });
  const cursorLookback = typeof own?.cursor === 'object' ? own.cursor.lookback : undefined;
  return {
    ...requested,
    name: description.name,
    table: description.name,
    lookbackMs: cursorLookback ?? defaults?.lookback ?? configDefaults.lookbackMs,
    freshnessMs: defaults?.freshness ?? configDefaults.freshnessMs,
    fullRefreshEveryMs: defaults?.fullRefreshEvery ?? configDefaults.fullRefreshEveryMs,
    slices: listSlices(requested.params, sliceBy).map((slice) => ({
      ...slice,
      fingerprint: fingerprintOf(slice.params),
    })),
    slice: undefined,
    deletes: own?.deletes ?? defaults?.deletes ?? 'keep',
    maxDeleteRatio: own?.maxDeleteRatio ?? defaults?.maxDeleteRatio ?? configDefaults.maxDeleteRatio,
    maxInvalidRatio: own?.maxInvalidRatio ?? defaults?.maxInvalidRatio ?? configDefaults.maxInvalidRatio,
    history: own?.history ?? defaults?.history ?? false,
    decimals,
    partitionBy: own?.partitionBy,
    skipUnchanged: own?.skipUnchanged ?? defaults?.skipUnchanged ?? false,
    audit: own?.audit ?? config.audit ?? true,
    named: own !== undefined,
    fingerprint: fingerprintOf(requested.params),
  };
}

function readContract(
  name: string,
  own: StreamConfig | undefined,
  loaded: LoadedConfig,
  files: 'read' | 'ignored',
): Contract {
  const shared = toContractModes(loaded.config.defaults?.contract);
  const modes = toContractModes(own?.contract);
  return {
    columns: modes.columns ?? shared.columns ?? 'evolve',
    types: modes.types ?? shared.types ?? 'evolve',
    schema: files === 'read' ? readContractSchema(loaded, name) : undefined,
  };
}

function toContractModes(contract: StreamConfig['contract']): {
  readonly columns?: ContractMode | undefined;
  readonly types?: ContractMode | undefined;
} {
  if (typeof contract !== 'string') return contract ?? {};
  return { columns: contract, types: contract };
}

function readCursor(cursor: StreamConfig['cursor'], startParam: string | undefined): CursorRule {
  const param = typeof cursor === 'object' ? (cursor.param ?? startParam) : startParam;
  if (cursor === false || param === undefined) return { kind: 'off' };
  return typeof cursor === 'object' ? { kind: 'field', field: cursor.field, param } : { kind: 'auto', param };
}

function findExtraProblems(
  name: string,
  stream: StreamConfig,
  builtIn: readonly string[],
): readonly Problem[] {
  if (stream.path !== undefined) return [];
  const nearest = findNearestName(name, builtIn);
  const question =
    nearest === undefined ? `built-in streams are ${builtIn.join(', ')}.` : `did you mean "${nearest}"?`;
  return [{ path: ['streams', name], message: `unknown stream; ${question} A custom stream needs a path.` }];
}

function findStreamProblems(name: string, stream: StreamConfig, connector: Connector): readonly Problem[] {
  const ownParams = orderOf(connector.paging).ownParams;
  const { maxPageSize } = connector.limits;
  const needsParam = typeof stream.cursor === 'object' && stream.cursor.param === undefined;
  return [
    ...Object.keys(stream.params ?? {})
      .filter((param) => ownParams.includes(param))
      .map((param) => ({
        path: ['streams', name, 'params', param],
        message: 'is set by Sluice for each page; remove the line (pageSize sets the rows of a page)',
      })),
    ...(stream.pageSize !== undefined && stream.pageSize > maxPageSize
      ? [{ path: ['streams', name, 'pageSize'], message: `must be at most ${maxPageSize}` }]
      : []),
    ...(needsParam && findStartParam(connector) === undefined
      ? [
          {
            path: ['streams', name, 'cursor'],
            message: 'needs param: the query parameter for the start date',
          },
        ]
      : []),
  ];
}

/** A stream's history is a table too: `<stream>_history` must not be the table of another stream. */
function findHistoryProblems(
  names: readonly string[],
  { streams = {}, defaults }: Pick<Config, 'streams' | 'defaults'>,
): readonly Problem[] {
  const known = new Set(names);
  return names
    .filter((name) => {
      const own = streams[name];
      const keeps = own?.enabled !== false && (own?.history ?? defaults?.history ?? false);
      return keeps && known.has(`${name}_history`);
    })
    .map((name) => ({
      path: ['streams', `${name}_history`],
      message: `is the table of the versions of ${name}; give this stream another name, or set streams.${name}.history to false`,
    }));
}
