import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig, defineConfig, parseConfig } from '../../src/config/load-config.ts';
import {
  catchConfigError,
  configText,
  load,
  makeFolder,
  problemsOf,
  validEnv,
  writeConfig,
} from './support.ts';

describe('loadConfig: the file', () => {
  it('refuses a config in itself, as a program may give one', () => {
    const params: Record<string, unknown> = {};
    params['again'] = params;
    const streams = { a: { path: 'a', params } };
    expect(catchConfigError(() => parseConfig({ streams }))).toMatchObject({
      code: 'config_invalid',
      exitCode: 2,
    });
  });

  it('gives a valid config with its file and folder', () => {
    const file = writeConfig(configText());
    const loaded = loadConfig({ path: file, env: validEnv });
    expect(loaded.path).toBe(file);
    expect(loaded.baseDir).toBe(path.dirname(file));
    expect(loaded.config.source.apiKey).toBe(validEnv.ANALYTICS_API_KEY);
  });

  it('says what to do when the file does not exist', () => {
    const error = catchConfigError(() => loadConfig({ path: path.join(makeFolder(), 'no.yaml'), env: {} }));
    expect(error).toMatchObject({ code: 'config_not_found', exitCode: 2 });
    expect(error.hint).toMatch(/sluice init.*sluice demo.*--config/);
  });

  it('names what is wrong with a folder, bytes that are not UTF-8, and UTF-16', () => {
    const folder = makeFolder();
    expect(catchConfigError(() => loadConfig({ path: folder, env: {} })).message).toContain('is a folder');
    for (const bytes of [Buffer.from([0x73, 0xff, 0xfe]), Buffer.from('source: 1', 'utf16le')])
      expect(catchConfigError(() => loadConfig({ path: writeConfig(bytes), env: {} })).message).toContain(
        'is not UTF-8 text',
      );
  });

  it('refuses a device, and a pipe that nobody writes to, at once', () => {
    const pipe = path.join(makeFolder(), 'sluice.yaml');
    if (process.platform !== 'win32') execFileSync('mkfifo', [pipe]);
    const named = process.platform === 'win32' ? [] : [pipe, '/dev/zero', '/dev/null'];
    for (const file of named) {
      const error = catchConfigError(() => loadConfig({ path: file, env: {} }));
      expect(error).toMatchObject({ code: 'config_invalid', exitCode: 2 });
      expect(error.message).toContain('is a pipe or a device, and a file is needed');
      expect(error.hint).toContain('relative paths in it start at its folder');
    }
  });

  it.each([
    'streams: { __proto__: { path: a } }',
    'streams: { a: { path: a, columns: { __proto__: { exclude: true } } } }',
    'streams: { a: { path: a, params: { list: [{ __proto__: 1 }] } } }',
  ])('refuses a name that would be left out: %s', (streams) => {
    expect(problemsOf(() => load(configText(streams)))).toEqual([
      expect.stringMatching(
        /^sluice\.yaml:\d+:\d+ streams\..*__proto__: cannot be used as a name: rename it$/,
      ),
    ]);
  });

  it.each([
    ['', 'is empty'],
    ['# only a comment\n', 'is empty'],
    ['- a\n- b\n', 'holds a list'],
    ['just text', 'holds a single value'],
  ])('refuses %j', (text, message) => {
    expect(catchConfigError(() => load(text)).message).toContain(message);
  });

  it('reads a file with a byte order mark and Windows line ends', () => {
    expect(load(`\uFEFF${configText().replaceAll('\n', '\r\n')}`).config.source.connector).toBe(
      'analytics-read',
    );
  });

  it.each(['my config.yaml', 'конфиг 🚰.yaml', "it's $HOME.yaml"])('reads a file named %s', (name) => {
    const file = writeConfig(configText(), name, `ünï ${name}`);
    expect(loadConfig({ path: file, env: validEnv }).path).toBe(file);
  });

  it('keeps control characters of a file name out of messages', () => {
    const error = catchConfigError(() => loadConfig({ path: 'a\u001b[31m.yaml', env: {} }));
    expect(error.message).not.toContain('\u001b');
  });
});

describe('loadConfig: YAML', () => {
  it('reports a key given twice with its line and column', () => {
    expect(problemsOf(() => load(`${configText()}  duckdb: ./b\n`))).toEqual([
      'sluice.yaml:7:3: the key "duckdb" is given twice',
    ]);
  });

  it('reports a syntax error without showing the line, which may hold the key', () => {
    const secret = 'sk-live-very-secret';
    for (const line of [`"${secret}`, `"${secret}" x`, `@${secret}`, `"\\q${secret}"`, `a: b: ${secret}`]) {
      const error = catchConfigError(() => load(`source:\n  apiKey: ${line}\n`));
      expect(error.message).toMatch(/sluice\.yaml:\d+:\d+/);
      expect(error.message + error.hint).not.toContain(secret);
    }
  });

  it('explains a placeholder that braces cut in two', () => {
    expect(problemsOf(() => load(configText('', '  quota: { reserve: ${N} }\n')))).toEqual([
      'sluice.yaml:5:22: inside { } or [ ] a placeholder needs quotes: "${NAME}"',
    ]);
  });

  it.each([
    ['source: !env KEY', 'tags such as !env'],
    ['a: 1\n---\nb: 2', 'only one document'],
    ['a:\n\t- b', 'tabs cannot indent'],
    ['? [a]\n: b', 'a key must be plain text'],
    ['a: &a { b: *a }', 'names itself'],
    ['a: *nothing', 'names no anchor'],
  ])('refuses %j', (text, message) => {
    expect(catchConfigError(() => load(text)).message).toContain(message);
  });

  it('refuses an alias bomb', () => {
    const levels = Array.from({ length: 12 }, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n},`.repeat(9)}]`);
    expect(catchConfigError(() => load(['a0: &a0 x', ...levels].join('\n'))).message).toContain('too often');
  });

  it('allows an anchor for settings used twice', () => {
    const { config } = load(
      configText(
        'streams:\n  prompts_analytics: { params: &p { topicIds: [a] } }\n  other: { path: x, params: *p }\n',
      ),
    );
    expect(config.streams?.other?.params).toEqual({ topicIds: ['a'] });
  });

  it('takes sections whose every line is commented out as absent', () => {
    const { config } = load(
      configText('defaults:\n  # lookback: 3d\nretention:\nstreams:\n  prompts_analytics:\n', '  quota:\n'),
    );
    expect(config.streams).toEqual({ prompts_analytics: {} });
  });

  it('refuses a parameter that YAML reads as another number', () => {
    const text = configText(
      'streams:\n  a: { path: a, params: { id: 007, ids: [1.10, "007", 12345678901234567890] } }\n',
    );
    const words = 'put it in quotes to send it as written';
    expect(problemsOf(() => load(text)).slice(1)).toEqual([
      `sluice.yaml:8:27 streams.a.params.id: would be sent as 7; ${words}`,
      `sluice.yaml:8:42 streams.a.params.ids[0]: would be sent as 1.1; ${words}`,
      `sluice.yaml:8:55 streams.a.params.ids[2]: would be sent as 12345678901234567000; ${words}`,
    ]);
  });
});

describe('loadConfig: validation', () => {
  it.each([
    ['sources: {}', 'sluice.yaml:7:1 sources: unknown key; did you mean "source"?'],
    ['stateDirectory: x', 'sluice.yaml:7:1 stateDirectory: unknown key; did you mean "stateDir"?'],
    ['defaults: { lookbak: 3d }', 'sluice.yaml:7:13 defaults.lookbak: unknown key; did you mean "lookback"?'],
    ['retention: { run: 3d }', 'sluice.yaml:7:14 retention.run: unknown key; did you mean "runs"?'],
    [
      'streams:\n  prompts_analytics:\n    cursr: auto',
      'sluice.yaml:9:5 streams.prompts_analytics.cursr: unknown key; did you mean "cursor"?',
    ],
    [
      'streams: { a: { cursor: { field: d, parm: s } } }',
      'sluice.yaml:7:37 streams.a.cursor.parm: unknown key; did you mean "param"?',
    ],
    [
      'streams: { a: { lookback: 3d } }',
      'sluice.yaml:7:17 streams.a.lookback: unknown key here; it belongs at "streams.a.cursor.lookback"',
    ],
    ['apiKey: x', 'sluice.yaml:7:1 apiKey: unknown key here; it belongs at "source.apiKey"'],
    [
      'defaults: { zzzz: 1 }',
      'sluice.yaml:7:13 defaults.zzzz: unknown key; known here: lookback, contract, deletes, history, decimals, skipUnchanged, freshness, fullRefreshEvery, maxInvalidRatio, maxDeleteRatio, hashKey',
    ],
    [
      'streams: { "a\u001b[31m": {} }',
      'sluice.yaml:7:12 streams.a\\u{1b}[31m: must be lower-case letters, digits and underscores, at most 63 and no digit first, e.g. my_endpoint',
    ],
    [
      `streams: { ${'a'.repeat(64)}: { path: a } }`,
      `sluice.yaml:7:12 streams.${'a'.repeat(64)}: must be lower-case letters, digits and underscores, at most 63 and no digit first, e.g. my_endpoint`,
    ],
    ['streams: { a: { path: a, pageSize: 0 } }', 'sluice.yaml:7:26 streams.a.pageSize: must be at least 2'],
    ['streams: { a: { path: a, pageSize: -5 } }', 'sluice.yaml:7:26 streams.a.pageSize: must be at least 2'],
    [
      'streams: { a: { path: a, pageSize: 2.5 } }',
      'sluice.yaml:7:26 streams.a.pageSize: must be a whole number',
    ],
    [
      'streams: { a: { write: marge } }',
      'sluice.yaml:7:17 streams.a.write: must be one of merge, replace, append; did you mean "merge"?',
    ],
    ['streams: { a: { key: id } }', 'sluice.yaml:7:17 streams.a.key: must be auto or a list of field names'],
    ['streams: { a: { key: [] } }', 'sluice.yaml:7:17 streams.a.key: must not be empty'],
    [
      'streams: { a: { records: "/da~ta" } }',
      'sluice.yaml:7:17 streams.a.records: must be a JSON pointer such as /data (in a name, ~ is written ~0 and / is written ~1)',
    ],
    ['streams: { a: { key: [id, id] } }', 'sluice.yaml:7:17 streams.a.key: must not name a field twice'],
    [
      'streams: { a: { maxInvalidRatio: .inf } }',
      'sluice.yaml:7:17 streams.a.maxInvalidRatio: must be a finite number',
    ],
    [
      'streams: { a: { maxDeleteRatio: .nan } }',
      'sluice.yaml:7:17 streams.a.maxDeleteRatio: must be a finite number',
    ],
    [
      'streams: { a: { cursor: { field: 5 } } }',
      'sluice.yaml:7:27 streams.a.cursor.field: must be text, not a number; put it in quotes',
    ],
    [
      'streams: { a: { params: { x: {} } } }',
      'sluice.yaml:7:27 streams.a.params.x: must be text, a number, true, false or a non-empty list of these',
    ],
    [
      'streams: { a: { path: ../../etc } }',
      'sluice.yaml:7:17 streams.a.path: must not contain . or .. segments',
    ],
    [
      'streams: { a: { partitionBy: date } }',
      'sluice.yaml:7:17 streams.a.partitionBy: must be a list, not text',
    ],
    [
      'streams: { a: { partitionBy: ["week(date)"] } }',
      'sluice.yaml:7:31 streams.a.partitionBy[0]: must be a column, or one in year(…), month(…) or day(…), e.g. month(date)',
    ],
    [
      'streams: { a: { columns: { x: { hash: true, exclude: true } } } }',
      'sluice.yaml:7:28 streams.a.columns.x: must have one of type, exclude and hash',
    ],
    [
      'streams: { a: { columns: { x: { type: "TEXT" } } } }',
      'sluice.yaml:7:33 streams.a.columns.x.type: must be VARCHAR, BOOLEAN, BIGINT, HUGEINT, DOUBLE, DECIMAL(p,s), DATE, TIMESTAMP, TIMESTAMPTZ or JSON; for TEXT, write VARCHAR',
    ],
    [
      'streams: { a: { columns: { x: { type: "money" } } } }',
      'sluice.yaml:7:33 streams.a.columns.x.type: must be VARCHAR, BOOLEAN, BIGINT, HUGEINT, DOUBLE, DECIMAL(p,s), DATE, TIMESTAMP, TIMESTAMPTZ or JSON',
    ],
    [
      'streams: { a: { columns: { x: { type: "varchar(20)" } } } }',
      'sluice.yaml:7:33 streams.a.columns.x.type: must be VARCHAR, BOOLEAN, BIGINT, HUGEINT, DOUBLE, DECIMAL(p,s), DATE, TIMESTAMP, TIMESTAMPTZ or JSON; for VARCHAR(20), write VARCHAR',
    ],
    [
      'streams: { a: { columns: { x: { type: "DECIMAL(40,2)" } } } }',
      'sluice.yaml:7:33 streams.a.columns.x.type: must have at most 38 digits: write DECIMAL(38,2), or VARCHAR to keep longer numbers as text',
    ],
    [
      'streams: { a: { columns: { x: { type: "decimal(100, 50)" } } } }',
      'sluice.yaml:7:33 streams.a.columns.x.type: must have from 1 to 38 digits in all, and no more of them after the point, e.g. DECIMAL(18,2)',
    ],
    [
      'streams: { a: { columns: { x: { type: "DECIMAL(2,4)" } } } }',
      'sluice.yaml:7:33 streams.a.columns.x.type: must have from 1 to 38 digits in all, and no more of them after the point, e.g. DECIMAL(18,2)',
    ],
    [
      'streams: { a: { columns: { x: { type: "DECIMAL" } } } }',
      'sluice.yaml:7:33 streams.a.columns.x.type: must say how many digits there are in all, and after the point: DECIMAL(18,2)',
    ],
    [
      'streams: { a: { columns: { x: { type: "DECIMAL(10)" } } } }',
      'sluice.yaml:7:33 streams.a.columns.x.type: must say how many digits there are in all, and after the point: DECIMAL(18,2)',
    ],
    [
      'streams: { a: { columns: { x: { type: "numeric(10,2)" } } } }',
      'sluice.yaml:7:33 streams.a.columns.x.type: must be written DECIMAL(10,2); NUMERIC is not known here',
    ],
    [
      'streams: { a: { contract: freez } }',
      'sluice.yaml:7:17 streams.a.contract: must be evolve, freeze, discard_row, discard_value, or a map of columns and types with one of these',
    ],
    ['streams: [a]', 'sluice.yaml:7:1 streams: must be a map of settings, not a list'],
    [
      'defaults: { lookback: 3 }',
      'sluice.yaml:7:13 defaults.lookback: must be a duration of at least 1d, such as 3d',
    ],
    ['defaults: { lookback: 2h }', 'sluice.yaml:7:13 defaults.lookback: must be at least 1d'],
    ['defaults: { lookback: 999999999d }', 'sluice.yaml:7:13 defaults.lookback: must be at most 36500d'],
    [
      'defaults: { freshness: 99999999999999w }',
      'sluice.yaml:7:13 defaults.freshness: must be at most 36500d',
    ],
    ['retention: { history: 99999999w }', 'sluice.yaml:7:14 retention.history: must be at most 36500d'],
    ['retention: { archive: 36500.1d }', 'sluice.yaml:7:14 retention.archive: must be at most 36500d'],
    ['stateDir: "  "', 'sluice.yaml:7:1 stateDir: must name a file or folder'],
    ['stateDir: "a\\0b"', 'sluice.yaml:7:1 stateDir: must not contain a NUL character'],
  ])('%s', (text, problem) => {
    expect(problemsOf(() => load(configText(`${text}\n`)))).toEqual([problem]);
  });

  it.each([
    ['  apiKye: x\n', 'sluice.yaml:5:3 source.apiKye: unknown key; did you mean "apiKey"?'],
    [
      '  quota: { burst: 5 }\n',
      'sluice.yaml:5:12 source.quota.burst: unknown key; did you mean "burstPerSecond"?',
    ],
    [
      '  keyExpiresAt: 2027-02-30\n',
      'sluice.yaml:5:3 source.keyExpiresAt: must be a date such as 2027-06-30',
    ],
    [
      '  quota: { requestsPerHour: 0 }\n',
      'sluice.yaml:5:12 source.quota.requestsPerHour: must be at least 1',
    ],
  ])('source: %s', (text, problem) => {
    expect(problemsOf(() => load(configText('', text)))).toEqual([problem]);
  });

  it('lists every problem in the order of the file', () => {
    const [first, ...rest] = problemsOf(() =>
      load('source:\n  connector: 5\n  apiKey: ${NOT_SET}\n  quotas: {}\nstreams: { a: { cursr: 1 } }\n'),
    );
    expect(first).toMatch(/^6 problems in /);
    expect(rest).toEqual([
      'sluice.yaml:1:1 source.baseUrl: is required',
      'sluice.yaml:1:1 destination: is required',
      'sluice.yaml:2:3 source.connector: must be text, not a number; put it in quotes',
      'sluice.yaml:3:3 source.apiKey: the environment variable NOT_SET is not set',
      'sluice.yaml:4:3 source.quotas: unknown key; did you mean "quota"?',
      'sluice.yaml:5:17 streams.a.cursr: unknown key; did you mean "cursor"?',
    ]);
  });

  it('never shows a value, which may be a secret in the wrong place', () => {
    const error = catchConfigError(() =>
      load(
        configText(
          'stateDir: [sk-secret]\nstreams: { a: { write: sk-secret } }\n',
          '  bearerToken: [sk-secret]\n',
        ),
      ),
    );
    expect(error.message + error.hint).not.toContain('sk-secret');
  });
});

describe('parseConfig and defineConfig', () => {
  const input = {
    source: { connector: 'analytics-read', baseUrl: 'https://a.example.com/v1', apiKey: 'k' },
    destination: { duckdb: './w.duckdb' },
    streams: { prompts_analytics: { cursor: 'auto' as const } },
  };

  it('validates an object as it would a file, without positions', () => {
    expect(parseConfig(input, '/base')).toMatchObject({ path: undefined, baseDir: '/base' });
    const wrong = { ...input, defaults: { lookbak: '3d' } };
    expect(catchConfigError(() => parseConfig(wrong)).message).toBe(
      'defaults.lookbak: unknown key; did you mean "lookback"?',
    );
  });

  it('reads no placeholder and no file', () => {
    const file = path.join(makeFolder(), 'key');
    writeFileSync(file, 'secret');
    const { config } = parseConfig({ ...input, stateDir: `\${file:${file}}` });
    expect(config.stateDir).toBe(`\${file:${file}}`);
  });

  it.each([undefined, null, 5, 'text', []])('refuses %j', (value) => {
    expect(catchConfigError(() => parseConfig(value)).code).toBe('config_invalid');
  });

  it('returns what it was given once that is valid', () => {
    expect(defineConfig(input)).toBe(input);
    expect(() => defineConfig({ ...input, streams: { 'B b': {} } })).toThrow('must be lower-case');
  });

  it('is not misled by a folder at the place of a key file', () => {
    const folder = makeFolder();
    mkdirSync(path.join(folder, 'key'));
    const file = path.join(folder, 'sluice.yaml');
    writeFileSync(file, configText().replace('${ANALYTICS_API_KEY}', '${file:key}'));
    expect(problemsOf(() => loadConfig({ path: file, env: {} }))).toEqual([
      `sluice.yaml:4:3 source.apiKey: the file ${path.join(folder, 'key')} is a folder`,
    ]);
  });
});
