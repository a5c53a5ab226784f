import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { findPlaces } from '../../src/config/account-places.ts';
import { type ConfigAccount, listAccounts } from '../../src/config/accounts.ts';
import { readConfigFile, wrapConfig } from '../../src/config/config-file.ts';
import { guessStateDir } from '../../src/config/guess-state-dir.ts';
import { defineConfig, loadConfig } from '../../src/config/load-config.ts';
import { resolveSettings } from '../../src/config/resolve-settings.ts';
import { catchConfigError, configText, makeFolder, validEnv } from './support.ts';

const SHARED = `source:
  connector: analytics-read
  baseUrl: https://analytics.example.com/api/v1
  apiKey: \${file:./keys/\${account}}
destination:
  parquet: ./lake/account=\${account}
  duckdb: ./accounts/\${account}.duckdb
stateDir: ./.sluice/\${account}
`;

function write(text: string, files: Readonly<Record<string, string>> = {}): string {
  const folder = makeFolder();
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), content, { mode: 0o600 });
  }
  const file = path.join(folder, 'sluice.yaml');
  writeFileSync(file, text);
  return file;
}

const list = (file: string, env = {}) => listAccounts(readConfigFile(file), env);
const listSome = (file: string): readonly ConfigAccount[] => list(file)?.accounts ?? [];
const keys = { 'keys/acme': 'key-of-acme-0123456789\n', 'keys/globex': 'key-of-globex-0123456789\n' };

function settingsOf(file: string, name: string) {
  const account = listSome(file).find((one) => one.name === name);
  const loaded = loadConfig({ path: file, env: validEnv, account });
  return resolveSettings({ loaded, connectors, env: validEnv, nowMs: 0, platform: 'linux' });
}

describe('accounts of a config', () => {
  it('are undefined without the key, and in the order of the file with it', () => {
    expect(list(write(configText()))).toBeUndefined();
    const found = list(write(`${SHARED}concurrency: 7\naccounts:\n  globex:\n  acme: {}\n`));
    expect(found?.accounts.map(({ name }) => name)).toEqual(['globex', 'acme']);
    expect(found?.concurrency).toBe(7);
  });

  it('take a variable for their number at work, and 4 by default', () => {
    const text = `${SHARED}accounts: { acme: {} }\n`;
    expect(list(write(text))?.concurrency).toBe(4);
    expect(list(write(`${text}concurrency: \${N}\n`), { N: '9' })?.concurrency).toBe(9);
  });

  it('have paths and a key of their own, by their name', () => {
    const file = write(`${SHARED}accounts: { acme: {}, globex: {} }\n`, keys);
    const folder = path.dirname(file);
    expect(settingsOf(file, 'globex')).toMatchObject({
      credentials: { secret: 'key-of-globex-0123456789' },
      stateDir: path.join(folder, '.sluice/globex'),
      destinations: [
        { kind: 'duckdb', path: path.join(folder, 'accounts/globex.duckdb') },
        { kind: 'parquet', path: path.join(folder, 'lake/account=globex') },
      ],
    });
  });

  it('have a state folder of their own where none is written', () => {
    const text = SHARED.replace(/stateDir.*\n/, '');
    const file = write(`${text}accounts: { acme: {}, globex: {} }\n`, keys);
    expect(settingsOf(file, 'acme').stateDir).toBe(path.join(path.dirname(file), '.sluice/acme'));
  });

  it('may say for themselves what a config may say: maps join, lists and values replace', () => {
    const file = write(
      `${SHARED}defaults: { lookback: 5d, freshness: 2h }
streams:
  visibility_mentions: { params: { entity: [a, b], region: eu } }
  commerce_top_products: { enabled: false }
accounts:
  acme: {}
  globex:
    source: { bearerToken: own-token-0123456789 }
    defaults: { lookback: 9d }
    streams:
      visibility_mentions: { params: { entity: [globex] } }
      commerce_top_products: { enabled: true }
    notify:
`,
      keys,
    );
    const globex = settingsOf(file, 'globex');
    expect(globex.credentials).toEqual({ kind: 'bearer', secret: 'own-token-0123456789' });
    const mentions = globex.streams.find(({ name }) => name === 'visibility_mentions');
    expect(mentions?.params).toEqual({ entity: ['globex'], region: 'eu' });
    expect(mentions?.lookbackMs).toBe(9 * 86_400_000);
    expect(mentions?.freshnessMs).toBe(2 * 3_600_000);
    expect(globex.disabledStreams).toEqual([]);
    expect(settingsOf(file, 'acme').disabledStreams).toEqual(['commerce_top_products']);
  });

  it('may stand in a file of their own, whose mistakes are found there', () => {
    const text = `${SHARED}accounts: \${file:clients.yaml}\n`;
    const file = write(text, {
      ...keys,
      'clients.yaml': 'acme: {}\nglobex:\n  streams:\n    x: { pathh: y }\n',
    });
    expect(listSome(file).map(({ name }) => name)).toEqual(['acme', 'globex']);
    const error = catchConfigError(() => settingsOf(file, 'globex'));
    expect(error.message).toMatch(/^clients\.yaml:4:10 globex\.streams\.x\.pathh: /);
    expect(settingsOf(file, 'acme').credentials.secret).toBe('key-of-acme-0123456789');
  });

  it.each([
    [undefined, /^accounts file .*clients\.yaml does not exist$/, /accounts: \$\{file:…\}/],
    ['', /^accounts file .* is empty; it must be a map of account names/, /acme: \{\}/],
    ['- acme\n', /^accounts file .* holds a list; it must be a map of account names/, /acme: \{\}/],
    ['acme\n', /^accounts file .* holds a single value; it must be/, /acme: \{\}/],
    [
      'accounts:\n  acme: {}\n',
      /^clients\.yaml:1:1 accounts: must not be in this file/,
      /"accounts:" from clients/,
    ],
    ['accounts: {}\n', /must not be in this file/, /begin with the first name/],
    ['accounts: { acme: {} }\nglobex: {}\n', /must not be in this file/, /begin with the first name/],
    ['acme: 5\n', /^clients\.yaml:1:1 acme: must be a map of settings/, /^Correct clients\.yaml/],
  ])('in a file of %j are refused with what to write there', (text, message, hint) => {
    const file = write(`${SHARED}accounts: \${file:clients.yaml}\n`, {
      ...keys,
      ...(text !== undefined && { 'clients.yaml': text }),
    });
    const error = catchConfigError(() => list(file));
    expect(error).toMatchObject({ code: 'config_invalid', exitCode: 2 });
    expect(error.message).toMatch(message);
    expect(error.hint).toMatch(hint);
    expect(error.hint).not.toContain('init');
  });

  it('may be called accounts in a file that names others', () => {
    const file = write(`${SHARED}accounts: \${file:clients.yaml}\n`, {
      ...keys,
      'clients.yaml': 'acme: {}\naccounts: { defaults: { lookback: 3d } }\n',
    });
    expect(listSome(file).map(({ name }) => name)).toEqual(['acme', 'accounts']);
  });

  it('say which file to correct', () => {
    const file = write(`${SHARED}accounts: \${file:clients.yaml}\nnotifyy: {}\n`, {
      ...keys,
      'clients.yaml': 'acme: { streems: {} }\nglobex: {}\n',
    });
    expect(catchConfigError(() => settingsOf(file, 'globex')).hint).toMatch(
      /^Correct \S*sluice\.yaml and run/,
    );
    const both = catchConfigError(() => settingsOf(file, 'acme'));
    expect(both.message).toMatch(
      /^2 problems in (?:clients\.yaml and \S+sluice|\S+sluice\.yaml and clients)/,
    );
  });

  it('do not suggest to one account what only all together can say', () => {
    const file = write(
      `${SHARED}accounts:\n  acme: { zzzzz: 1 }\n  globex: { combined: ./a.duckdb, concurency: 3 }\n`,
      keys,
    );
    const { message } = catchConfigError(() => settingsOf(file, 'acme'));
    expect(message).toContain('known here: source, ');
    expect(message).not.toMatch(/accounts,|concurrency/);
    const other = catchConfigError(() => settingsOf(file, 'globex')).message;
    expect(other).toContain(
      'it belongs at "destination.combined" at the top of the config, for all accounts',
    );
    expect(other).not.toContain('did you mean "concurrency"');
    const top = write(`${SHARED}concurency: 3\naccounts: { acme: {} }\n`, keys);
    expect(catchConfigError(() => settingsOf(top, 'acme')).message).toContain('did you mean "concurrency"');
  });

  it('are meant by a key that is nearly theirs', () => {
    const file = write(`${SHARED}acounts: { acme: {} }\nconcurrency: 4\n`, keys);
    const { message } = catchConfigError(() => loadConfig({ path: file, env: validEnv }));
    expect(message).toMatch(/sluice\.yaml:9:1 acounts: unknown key; did you mean "accounts"\?$/);
  });

  it('are what a variable means that is nearly ${account}', () => {
    const text = `${SHARED}accounts: { acme: {} }\n`;
    for (const [right, wrong] of [
      ['keys/${account}', 'keys/${acount}'],
      ['keys/${account}', 'keys/${ACCOUNT}'],
      ['lake/account=${account}', 'lake/account=${acount}'],
    ] as const) {
      const file = write(text.replace(right, wrong), keys);
      const { hint } = catchConfigError(() => {
        const account = listSome(file)[0];
        loadConfig({ path: file, env: validEnv, account });
      });
      expect(hint).toMatch(/^Did you mean \$\{account\}, the name of the account\?/);
    }
    const other = write(text.replace('keys/${account}', '${KEYS}/${account}'), keys);
    expect(catchConfigError(() => settingsOf(other, 'acme')).hint).toMatch(/^Set it, e\.g\. export KEYS=…/);
  });

  it('are advised to have a file for the key of each', () => {
    const text = `${SHARED}accounts: { acme: {} }\n`;
    const empty = catchConfigError(() => settingsOf(write(text, { 'keys/acme': '\n' }), 'acme'));
    expect(empty).toMatchObject({ code: 'key_missing' });
    expect(empty.hint).toContain('set apiKey: ${file:./keys/${account}}');
    const unset = write(text.replace('${file:./keys/${account}}', '${API_KEY}'));
    expect(catchConfigError(() => settingsOf(unset, 'acme')).hint).toContain('${file:./keys/${account}}');
    const literal = write(text.replace('${file:./keys/${account}}', 'sk-live-0123456789'));
    const { warnings } = settingsOf(literal, 'acme');
    expect(warnings.join()).toContain('write ${file:./keys/${account}} there');
    for (const words of [empty.hint, ...warnings]) expect(words).not.toContain('ANALYTICS_API_KEY');
  });

  it('are what ${account} needs', () => {
    const file = write(configText('', '', './${account}.duckdb'));
    const error = catchConfigError(() => loadConfig({ path: file, env: validEnv }));
    expect(error.message).toContain('${account} is the name of an account, and the config has no accounts');
    expect(error.hint).toContain('accounts: { acme: {} }');
  });

  it('name the place of a mistake as it is written', () => {
    const file = write(`${SHARED}accounts:\n  acme:\n    defaults: { lookback: 1h }\n`, keys);
    const error = catchConfigError(() => settingsOf(file, 'acme'));
    expect(error.message).toMatch(
      /sluice\.yaml:11:17 accounts\.acme\.defaults\.lookback: must be at least 1d/,
    );
  });

  it('say which key file is missing', () => {
    const file = write(`${SHARED}accounts: { acme: {}, other: {} }\n`, keys);
    const error = catchConfigError(() => settingsOf(file, 'other'));
    expect(error).toMatchObject({ code: 'key_missing', exitCode: 2 });
    expect(error.message).toContain('keys/other does not exist');
  });

  it.each([
    ['accounts: { ../evil: {} }', /"\.\.\/evil" is not an account name/],
    ['accounts: { .hidden: {} }', /is not an account name/],
    ['accounts: { Acme: {} }', /is not an account name/],
    ['accounts: { "a/b": {} }', /is not an account name/],
    ['accounts: { "": {} }', /is not an account name/],
    [`accounts: { ${'a'.repeat(64)}: {} }`, /is not an account name/],
    ['accounts: {}', /must name at least one account/],
    ['accounts:', /must name at least one account/],
    ['accounts: [acme]', /must be a map of account names/],
    ['accounts: acme', /must be a map of account names/],
    ['accounts: { acme: yes please }', /must be a map of settings/],
    ['accounts: { acme: { concurrency: 3 } }', /setting of all accounts together/],
    ['accounts: { acme: { accounts: { a: {} } } }', /setting of all accounts together/],
    ['accounts: { acme: { destination: { combined: ./a.duckdb } } }', /setting of all accounts together/],
  ])('refuse %s', (line, message) => {
    const error = catchConfigError(() => list(write(`${SHARED}${line}\n`)));
    expect(error).toMatchObject({ code: 'config_invalid', exitCode: 2 });
    expect(error.message).toMatch(message);
  });

  it('cannot be read as one config, and their settings mean nothing without them', () => {
    const both = write(`${SHARED}accounts: { acme: {}, globex: {} }\n`, keys);
    expect(catchConfigError(() => loadConfig({ path: both, env: validEnv })).message).toContain(
      'has several accounts (acme, globex)',
    );
    for (const line of [
      'concurrency: 4\n',
      'destination: { duckdb: ./w.duckdb, combined: ./all.duckdb }\n',
    ]) {
      const text = configText(line).replace(/destination:\n {2}duckdb: .*\n(?=destination)/, '');
      const error = catchConfigError(() => loadConfig({ path: write(text), env: validEnv }));
      expect(error.message).toContain('only has an effect together with accounts');
    }
  });

  it('leave ${account} a variable in a config without them', () => {
    const file = write(configText('', '', './${account}.duckdb'));
    const { config } = loadConfig({ path: file, env: { ...validEnv, account: 'mine' } });
    expect(config.destination.duckdb).toBe('./mine.duckdb');
  });

  it('are written as an object in a program', () => {
    const input = {
      source: { connector: 'analytics-read', baseUrl: 'https://x.example/v1', apiKey: 'key-0123456789' },
      destination: { duckdb: './w.duckdb' },
      accounts: { acme: { destination: { duckdb: './acme.duckdb' } }, globex: null },
    };
    expect(defineConfig(input)).toBe(input);
    expect(listAccounts(wrapConfig(input), {})?.accounts).toHaveLength(2);
    const wrong = { ...input, accounts: { acme: { defaults: { lookback: 'soon' } } } };
    expect(catchConfigError(() => defineConfig(wrong)).message).toContain('lookback');
  });

  it('have a state folder that can be guessed in a broken config', () => {
    const file = write(`${SHARED}nonsense: 1\naccounts: { acme: {} }\n`);
    const [account] = listSome(file);
    expect(guessStateDir({ path: file, env: {}, account })).toBe(
      path.join(path.dirname(file), '.sluice/acme'),
    );
    expect(guessStateDir({ path: file, env: {} })).toBeUndefined();
  });
});

describe('places of accounts', () => {
  const find = (text: string) => {
    const file = write(text);
    return { file, ...findPlaces(listSome(file), { env: {}, platform: 'linux' }) };
  };
  const withPaths = (destination: string, rest = '') =>
    `source: { connector: analytics-read, baseUrl: https://x.example/v1, apiKey: k }
destination: ${destination}
${rest}accounts: { acme: {}, globex: {} }
`;

  it('are found by name, and for names that the config no longer has', () => {
    const { file, places, patterns, combined, catalog } = find(
      withPaths(
        '{ parquet: "./lake/account=${account}", duckdb: "./a/${account}.duckdb", combined: ./all.duckdb }',
      ),
    );
    const folder = path.dirname(file);
    expect(places.filter(({ account }) => account === 'acme').map((place) => place.path)).toEqual([
      path.join(folder, 'a/acme.duckdb'),
      path.join(folder, 'lake/account=acme'),
      path.join(folder, '.sluice/acme'),
    ]);
    expect(patterns.map((one) => one.pathOf('old'))).toEqual([
      path.join(folder, 'a/old.duckdb'),
      path.join(folder, 'lake/account=old'),
      path.join(folder, '.sluice/old'),
    ]);
    expect(combined).toBe(path.join(folder, 'all.duckdb'));
    expect(catalog).toBe(path.join(folder, 'lake/lake.duckdb'));
  });

  it('have a schema each in one DuckLake, and a copy each that commands read', () => {
    const { data, file } = find(
      withPaths('{ ducklake: { catalog: "sqlite:./c.sqlite", data: ./data, schema: "${account}" } }'),
    );
    const folder = path.dirname(file);
    expect(data.map(({ account, readersFile }) => [account, readersFile])).toEqual([
      ['acme', path.join(folder, '.sluice/acme/readers.duckdb')],
      ['globex', path.join(folder, '.sluice/globex/readers.duckdb')],
    ]);
  });

  it.each([
    ['{ duckdb: ./data/w.duckdb }', '', 'Write duckdb: "./data/accounts/${account}.duckdb"'],
    ['{ duckdb: w.duckdb }', '', 'Write duckdb: "accounts/${account}.duckdb"'],
    ['{ parquet: ./lake }', '', 'Write parquet: "./lake/account=${account}"'],
    ['{ ducklake: { catalog: "sqlite:./c.sqlite", data: ./data } }', '', 'Write schema: "${account}"'],
    [
      '{ iceberg: { endpoint: "https://c.example.com", warehouse: wh, namespace: all } }',
      '',
      'Write namespace: "${account}"',
    ],
    ['{ motherduck: { database: "md:Company", token: example } }', '', 'Write schema: "${account}"'],
    [
      '{ duckdb: "./${account}.duckdb", ducklake: { catalog: "sqlite:./c.sqlite", data: ./data, schema: all } }',
      '',
      'Write schema: "${account}"',
    ],
    ['{ duckdb: "./${account}.duckdb" }', 'stateDir: ./.s\n', 'Write stateDir: "./.s/${account}"'],
  ])('are refused where accounts share %s %s', (destination, rest, hint) => {
    const error = catchConfigError(() => find(withPaths(destination, rest)));
    expect(error.message).toMatch(/acme and globex would share .*, and each account needs its own$/);
    expect(error.hint).toBe(hint);
  });

  it.each([
    [
      '{ parquet: "./${account}", duckdb: "./acme/${account}.duckdb" }',
      '',
      /DuckDB file of globex .* lies inside the lake of acme/,
    ],
    ['{ duckdb: "./${account}.duckdb", combined: ./acme.duckdb }', '', /is the same as the/],
    [
      '{ parquet: "./lake/${account}", duckdb: "./${account}.duckdb", combined: ./lake/lake.duckdb }',
      '',
      /is the same as the/,
    ],
    ['{ duckdb: "./d-${account}/globex/w.duckdb" }', 'stateDir: "./d-acme/${account}"\n', /lies inside/],
  ])('are refused where they overlap: %s %s', (destination, rest, message) => {
    expect(catchConfigError(() => find(withPaths(destination, rest))).message).toMatch(message);
  });

  it.each([
    ['./${account}-all.duckdb', /one file for all accounts/, 'Write combined: "./all.duckdb".'],
    ['./${account}.duckdb', /one file for all accounts/, 'Write combined: "./all.duckdb".'],
    ['./out/${account}/x.duckdb', /one file for all accounts/, 'Write combined: "./all.duckdb".'],
    ['s3://bucket/all.duckdb', /must be a file on this machine/, /^Write a path/],
    [':memory:', /must be a file on this machine/, /^Write a path/],
    ['./out/', /out is a folder/, /all\.duckdb\.$/],
    ['.', /is a folder/, /all\.duckdb\.$/],
    ['/dev/null', /is a pipe or a device/, /^Name another file/],
    ['./all.duckdb?x=1', /question mark/, /^Name another file/],
    ['./sluice.yaml', /is a file that the config needs/, /^Name another file/],
    ['./keys/globex', /is a file that the config needs/, /^Name another file/],
    ['./lake/acme/all.duckdb', /lies inside the lake of acme/, /places of its own/],
    ['./.sluice/acme/all.duckdb', /lies inside the state folder of acme/, /places of its own/],
  ])('are refused for a combined file at %s', (combined, message, hint) => {
    const text = withPaths(`{ parquet: "./lake/\${account}", combined: "${combined}" }`).replace(
      'apiKey: k',
      'apiKey: "${file:./keys/${account}}"',
    );
    const error = catchConfigError(() => find(text));
    expect(error.message).toMatch(message);
    expect(error.message).toContain('destination.combined');
    expect(error.hint).toMatch(hint);
  });

  const withOwn = (own: string, destination = '{ duckdb: "./accounts/${account}.duckdb" }') =>
    withPaths(destination).replace('globex: {}', `globex: ${own}`);

  it.each([
    ['{ destination: { duckdb: ./accounts/../accounts/acme.duckdb } }', 'would share'],
    ['{ destination: { duckdb: ./.sluice/acme/w.duckdb } }', 'lies inside'],
    ['{ destination: { duckdb: ./x.duckdb, parquet: ./.sluice } }', 'lies inside'],
  ])('are refused where an account has written one of another: %s', (own, message) => {
    const error = catchConfigError(() => find(withOwn(own)));
    expect(error.message).toMatch(/sluice\.yaml:3:\d+ accounts\.globex\.destination\.(?:duckdb|parquet): /);
    expect(error.message).toContain(message);
    expect(error.hint).toMatch(
      /^(?:Remove the duckdb of globex, so that it has "\.\/accounts\/\$\{account\}\.duckdb"|Write another parquet for globex)/,
    );
  });

  it('are refused where one is another by a link', () => {
    const file = write(
      withPaths('{ duckdb: "./${account}.duckdb" }').replace(
        'accounts: { acme: {}, globex: {} }',
        'accounts: { acme: { destination: { duckdb: ./real/w.duckdb } }, globex: { destination: { duckdb: ./link/w.duckdb } } }',
      ),
    );
    const folder = path.dirname(file);
    mkdirSync(path.join(folder, 'real'));
    symlinkSync('real', path.join(folder, 'link'));
    const error = catchConfigError(() => findPlaces(listSome(file), { env: {}, platform: 'linux' }));
    expect(error.message).toMatch(
      /would share \S+ \(\S+ is the same place\), and each account needs its own/,
    );
  });

  it('take a placeholder in an object as the text that it is', () => {
    const accounts = { acme: {}, globex: {} };
    const destination = { duckdb: './${account}.duckdb' };
    const known = listAccounts(wrapConfig({ source: {}, destination, accounts }), {})?.accounts ?? [];
    const error = catchConfigError(() => findPlaces(known, { env: {}, platform: 'linux' }));
    expect(error.message).toContain('acme and globex would share');
  });

  it('may have names that sort between a folder and what is in it', () => {
    const text = withPaths('{ parquet: "./l/${account}", duckdb: "./l/acme-x/w.duckdb" }').replace(
      'accounts: { acme: {}, globex: {} }',
      'accounts: { acme: {}, acme-x: { destination: { duckdb: ./l/acme/w.duckdb } } }',
    );
    expect(catchConfigError(() => find(text)).message).toMatch(/lies inside/);
  });
});
