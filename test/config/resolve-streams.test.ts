import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { resolveSettings } from '../../src/config/resolve-settings.ts';
import { selectStreams } from '../../src/config/select-streams.ts';
import type { Connector } from '../../src/model/connector.ts';
import { catchConfigError, configText, problemsOf, resolve, validEnv, writeConfig } from './support.ts';

const builtIn = [
  'visibility_mentions',
  'prompts_analytics',
  'commerce_category_products',
  'commerce_top_products',
];

function streamOf(streams: string, name: string, source = '', defaults = '') {
  const text = configText(`${defaults}${streams === '' ? '' : `streams: { ${streams} }\n`}`, source);
  const stream = resolve(text).streams.find((candidate) => candidate.name === name);
  if (stream === undefined) throw new Error(`no stream ${name}`);
  return stream;
}

describe('streams', () => {
  it('are the built-in ones when config names none', () => {
    const { streams, disabledStreams } = resolve(configText());
    expect(streams.map(({ name }) => name)).toEqual(builtIn);
    expect(disabledStreams).toEqual([]);
    expect(streams[1]).toMatchObject({
      table: 'prompts_analytics',
      path: 'prompts/analytics',
      paginated: true,
      recordsPointer: undefined,
      params: {},
      pageSize: 100,
      key: { kind: 'auto' },
      cursor: { kind: 'auto', param: 'startDate' },
      write: 'merge',
      slices: [],
      contract: { columns: 'evolve', types: 'evolve', schema: undefined },
      columns: {},
      deletes: 'keep',
      maxDeleteRatio: 0.2,
      maxInvalidRatio: 0.05,
      history: false,
      skipUnchanged: false,
      lookbackMs: 3 * 86_400_000,
      freshnessMs: 3_600_000,
      fullRefreshEveryMs: 30 * 86_400_000,
      named: false,
    });
    expect(streams[0]?.paginated).toBe(false);
  });

  it('keep the built-in order, then the order of the config, without the disabled ones', () => {
    const { streams, disabledStreams } = resolve(
      configText(
        'streams: { zebra: { path: z }, commerce_top_products: { enabled: false }, ant: { path: a }, prompts_analytics: {}, off: { path: o, enabled: false } }\n',
      ),
    );
    expect(streams.map(({ name }) => name)).toEqual([...builtIn.slice(0, 3), 'zebra', 'ant']);
    expect(disabledStreams).toEqual(['commerce_top_products', 'off']);
    expect(streams.map(({ named }) => named)).toEqual([false, true, false, true, true]);
  });

  it('are overridden part by part', () => {
    expect(
      streamOf(
        'prompts_analytics: { path: /other/path, paginated: false, records: /items, params: { topicIds: [a, b] }, key: [id, date], cursor: { field: date, param: since, lookback: 5d }, write: replace, pageSize: 20 }',
        'prompts_analytics',
      ),
    ).toMatchObject({
      path: 'other/path',
      paginated: false,
      recordsPointer: '/items',
      params: { topicIds: ['a', 'b'] },
      key: { kind: 'fields', fields: ['id', 'date'] },
      cursor: { kind: 'field', field: 'date', param: 'since' },
      write: 'replace',
      pageSize: 20,
      lookbackMs: 5 * 86_400_000,
    });
  });

  it('take lookback from the cursor, then from defaults', () => {
    const defaults = 'defaults: { lookback: 7d, freshness: 2h, fullRefreshEvery: 10d }\n';
    const own = 'prompts_analytics: { cursor: { field: date, lookback: 2d } }';
    expect(streamOf(own, 'prompts_analytics', '', defaults).lookbackMs).toBe(2 * 86_400_000);
    expect(streamOf(own, 'visibility_mentions', '', defaults)).toMatchObject({
      lookbackMs: 7 * 86_400_000,
      freshnessMs: 2 * 3_600_000,
      fullRefreshEveryMs: 10 * 86_400_000,
    });
    expect(streamOf(own, 'prompts_analytics').cursor).toMatchObject({ param: 'startDate' });
  });

  it('have no cursor when config says so', () => {
    expect(streamOf('prompts_analytics: { cursor: false }', 'prompts_analytics').cursor).toEqual({
      kind: 'off',
    });
  });

  it('of the config are unpaginated unless it says otherwise', () => {
    expect(streamOf('mine: { path: a/b }', 'mine')).toMatchObject({
      paginated: false,
      cursor: { kind: 'auto', param: 'startDate' },
    });
    expect(streamOf('mine: { path: a/b, paginated: true, records: /data }', 'mine').paginated).toBe(true);
  });

  it.each(['prompt_analytics: {}', 'prompt_analytics: { enabled: false }', 'prompt_analytics:'])(
    'that are misspelt are recognised among new ones: %s',
    (streams) => {
      expect(problemsOf(() => resolve(configText(`streams:\n  ${streams}\n`)))).toEqual([
        'sluice.yaml:8:3 streams.prompt_analytics: unknown stream; did you mean "prompts_analytics"? A custom stream needs a path.',
      ]);
    },
  );

  it('far from any built-in name get the list of those', () => {
    expect(problemsOf(() => resolve(configText('streams: { zzz: {} }\n')))[0]).toContain(
      `${builtIn.join(', ')}. A custom stream needs a path.`,
    );
  });

  it('ask for pages no larger than the connector allows', () => {
    const text = (size: number) => configText(`streams: { prompts_analytics: { pageSize: ${size} } }\n`);
    const large: Connector = {
      ...connectors['analytics-read'],
      limits: { ...connectors['analytics-read'].limits, maxPageSize: 500 },
    };
    expect(problemsOf(() => resolve(text(101)))).toEqual([
      'sluice.yaml:7:33 streams.prompts_analytics.pageSize: must be at most 100',
    ]);
    const loaded = loadConfig({ path: writeConfig(text(500)), env: validEnv });
    const options = { loaded, connectors: { 'analytics-read': large }, env: validEnv, nowMs: 0 };
    expect(resolveSettings(options).streams[1]?.pageSize).toBe(500);
  });

  it('may not set the paging parameters', () => {
    const text = configText('streams: { prompts_analytics: { params: { limit: 5, offset: 0 } } }\n');
    expect(problemsOf(() => resolve(text)).slice(1)).toEqual([
      expect.stringContaining('streams.prompts_analytics.params.limit: is set by Sluice'),
      expect.stringContaining('streams.prompts_analytics.params.offset: is set by Sluice'),
    ]);
  });

  it('cannot all be disabled', () => {
    const off = builtIn.map((name) => `${name}: { enabled: false }`).join(', ');
    expect(problemsOf(() => resolve(configText(`streams: { ${off} }\n`)))[0]).toContain(
      'every stream is disabled',
    );
  });
});

describe('fingerprint', () => {
  const name = 'prompts_analytics';
  const print = (own: string, source = '', defaults = '') =>
    streamOf(`${name}: { ${own} }`, name, source, defaults).fingerprint;
  const plain = print('');

  it('is short and the same for the same settings in any order', () => {
    expect(plain).toMatch(/^[0-9a-f]{16}$/);
    expect(streamOf('', name).fingerprint).toBe(plain);
    expect(print('params: { b: 2, a: [x, y] }')).toBe(print('params: { a: [x, y], b: "2" }'));
  });

  it.each([
    'path: other',
    'paginated: false',
    'records: /x',
    'pageSize: 50',
    'params: { a: 1 }',
    'key: [id]',
    'cursor: false',
    'cursor: { field: d }',
    'write: append',
  ])('changes with %s', (own) => {
    expect(print(own)).not.toBe(plain);
  });

  it('distinguishes what only looks alike', () => {
    const prints = [
      'params: { a: [x, y] }',
      'params: { a: "x,y" }',
      'params: { a: [y, x] }',
      'params: { a: x, b: y }',
    ];
    expect(new Set(prints.map((own) => print(own))).size).toBe(prints.length);
    expect(print('', '  arrayParams: repeat\n')).not.toBe(plain);
  });

  it('does not change with lookback, freshness or another key', () => {
    expect(print('', '', 'defaults: { lookback: 9d, freshness: 3h }\n')).toBe(plain);
    expect(print('cursor: { field: d }')).toBe(print('cursor: { field: d, lookback: 8d }'));
  });
});

describe('selectStreams', () => {
  const settings = resolve(configText('streams: { commerce_top_products: { enabled: false } }\n'));

  it('gives the named streams in the order of the config, each once', () => {
    const names = selectStreams(settings, ['prompts_analytics', 'visibility_mentions', 'prompts_analytics']);
    expect(names.map(({ name }) => name)).toEqual(['visibility_mentions', 'prompts_analytics']);
    expect(selectStreams(settings)).toBe(settings.streams);
  });

  it.each([
    [['prompt_analytics'], 'unknown stream "prompt_analytics"; did you mean "prompts_analytics"?'],
    [['visibility_mentions', 'x\u001b'], 'unknown stream "x\\u{1b}"'],
    [['commerce_top_products'], 'stream "commerce_top_products" is disabled in the config'],
    [[''], 'unknown stream ""'],
    [[], 'no stream was named'],
  ])('refuses %j', (names, message) => {
    const error = catchConfigError(() => selectStreams(settings, names));
    expect(error).toMatchObject({ code: 'usage_invalid', exitCode: 2, message });
    expect(error.hint).toBe(`Streams of this config: ${builtIn.slice(0, 3).join(', ')}.`);
  });
});

describe('slices', () => {
  const sliced = (parts: string) => streamOf(`visibility_mentions: { ${parts} }`, 'visibility_mentions');

  it('are one for each combination of the listed values, named as in a query', () => {
    const { slices, slice } = sliced(
      'params: { entity: [acme, "a&b=c"], region: [1, true], other: [x, y] }, sliceBy: [entity, region]',
    );
    expect(slice).toBeUndefined();
    expect(slices.map(({ id }) => id)).toEqual([
      'entity=acme&region=1',
      'entity=acme&region=true',
      'entity=a%26b%3Dc&region=1',
      'entity=a%26b%3Dc&region=true',
    ]);
    expect(slices[0]).toMatchObject({
      values: { entity: 'acme', region: 1 },
      params: { entity: 'acme', region: 1, other: ['x', 'y'] },
    });
  });

  it('keep their fingerprint when another value joins the list', () => {
    const before = sliced('params: { entity: [acme] }, sliceBy: [entity]').slices;
    const after = sliced('params: { entity: [globex, acme] }, sliceBy: [entity]').slices;
    expect(after[1]).toEqual(before[0]);
    expect(after[0]?.fingerprint).not.toBe(before[0]?.fingerprint);
  });

  it.each([
    [
      'params: { topic: a }, sliceBy: [entity]',
      'names "entity", which params does not list; add it, e.g. params: { entity: [acme, globex] }',
    ],
    ['sliceBy: [entity]', 'names "entity", which params does not list'],
    ['params: { entity: [a, a] }, sliceBy: [entity]', 'lists a value twice'],
    ['params: { entity: [1, "1"] }, sliceBy: [entity]', 'lists a value twice'],
    ['params: { entity: [a] }, sliceBy: [entity, entity]', 'must not name a parameter twice'],
    ['params: { entity: [a] }, sliceBy: []', 'must not be empty'],
  ])('%s is refused', (parts, problem) => {
    expect(catchConfigError(() => sliced(parts)).message).toContain(problem);
  });
});

describe('contract and columns', () => {
  it('take the modes of the stream before those of the defaults', () => {
    const defaults =
      'defaults: { contract: { columns: freeze, types: discard_row }, deletes: soft, history: true }\n';
    expect(streamOf('', 'prompts_analytics', '', defaults)).toMatchObject({
      contract: { columns: 'freeze', types: 'discard_row' },
      deletes: 'soft',
      history: true,
    });
    expect(
      streamOf(
        'prompts_analytics: { contract: { types: evolve }, deletes: hard, history: false, maxDeleteRatio: 1 }',
        'prompts_analytics',
        '',
        defaults,
      ),
    ).toMatchObject({
      contract: { columns: 'freeze', types: 'evolve' },
      deletes: 'hard',
      history: false,
      maxDeleteRatio: 1,
    });
    expect(
      streamOf('prompts_analytics: { contract: discard_value }', 'prompts_analytics', '', defaults).contract,
    ).toMatchObject({ columns: 'discard_value', types: 'discard_value' });
  });

  it('reads rules of columns, types in any case', () => {
    const defaults = 'defaults: { hashKey: 0123456789abcdef0123 }\n';
    const parts =
      'columns: { a.b: { type: "decimal(18, 2)" }, ssn: { exclude: true }, mail: { hash: true } }';
    expect(streamOf(`prompts_analytics: { ${parts} }`, 'prompts_analytics', '', defaults).columns).toEqual({
      'a.b': { kind: 'type', type: 'DECIMAL(18,2)' },
      ssn: { kind: 'exclude' },
      mail: { kind: 'hash' },
    });
  });

  it('refuses a hash without a key', () => {
    expect(
      catchConfigError(() =>
        streamOf('prompts_analytics: { columns: { mail: { hash: true } } }', 'prompts_analytics'),
      ).message,
    ).toContain('needs defaults.hashKey');
  });

  it('reads the contract file next to the config, and names one that is not a schema', () => {
    const path = writeConfig(configText());
    const contracts = join(dirname(path), 'contracts');
    mkdirSync(contracts);
    const file = join(contracts, 'prompts_analytics.schema.json');
    const read = () => {
      const loaded = loadConfig({ path, env: validEnv });
      return resolveSettings({ loaded, connectors, env: validEnv, nowMs: 0 }).streams[1]?.contract.schema;
    };
    writeFileSync(file, '{"type":"object"}');
    expect(read()).toEqual({ path: file, json: { type: 'object' } });
    for (const text of ['[]', '{', 'null']) {
      writeFileSync(file, text);
      const error = catchConfigError(read);
      expect(error.message).toContain(file);
      expect(error.hint).toContain('`sluice discover prompts_analytics --write --force`');
    }
  });
});

describe('a history', () => {
  const problems = (streams: string, defaults = '') =>
    problemsOf(() => resolve(configText(`${defaults}streams: { ${streams} }\n`)));

  it('must not have the name of another stream, switched off or not', () => {
    const both =
      'prompts_analytics: { history: true }, prompts_analytics_history: { path: p, enabled: false }';
    expect(problems(both)).toEqual([
      expect.stringMatching(
        /streams\.prompts_analytics_history: is the table of the versions of prompts_analytics/,
      ),
    ]);
    expect(problems('a: { path: a }, a_history: { path: b }', 'defaults: { history: true }\n')).toHaveLength(
      1,
    );
  });

  it('may, where the stream keeps none', () => {
    const { streams } = resolve(
      configText('streams: { a: { path: a }, a_history: { path: b, history: true } }\n'),
    );
    expect(streams.map(({ name }) => name)).toContain('a_history');
  });
});

describe('contract files', () => {
  it.each([
    {
      folder: 'contracts/prompts_analytics.schema.json',
      message: /prompts_analytics\.schema\.json is a folder$/,
      hint: 'Move the folder away; `sluice discover prompts_analytics --write` then writes the file. Nothing was requested.',
    },
    {
      file: 'contracts',
      message: /contracts is a file, and must be a folder/,
      hint: 'Move the file away, or give it another name. Nothing was requested.',
    },
  ])('are read from a folder: $message', ({ folder, file, message, hint }) => {
    const path = writeConfig(configText());
    if (folder !== undefined) mkdirSync(join(dirname(path), folder), { recursive: true });
    if (file !== undefined) writeFileSync(join(dirname(path), file), '');
    const loaded = loadConfig({ path, env: validEnv });
    const error = catchConfigError(() => resolveSettings({ loaded, connectors, env: validEnv, nowMs: 0 }));
    expect(error).toMatchObject({ exitCode: 2, hint });
    expect(error.message).toMatch(message);
  });

  it('that belong to no stream are reported, with the name they may mean', () => {
    const path = writeConfig(configText('streams: { commerce_top_products: { enabled: false } }\n'));
    mkdirSync(join(dirname(path), 'contracts'));
    for (const name of ['promts_analytics', 'prompts_analytics', 'commerce_top_products'])
      writeFileSync(join(dirname(path), 'contracts', `${name}.schema.json`), '{"type":"object"}');
    const loaded = loadConfig({ path, env: validEnv });
    expect(resolveSettings({ loaded, connectors, env: validEnv, nowMs: 0 }).warnings).toEqual([
      'contracts/promts_analytics.schema.json belongs to no stream and is not applied; did you mean "prompts_analytics"?',
    ]);
  });
});
