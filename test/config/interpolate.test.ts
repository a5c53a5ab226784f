import { writeFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load-config.ts';
import { catchConfigError, configText, load, problemsOf, validEnv, writeConfig } from './support.ts';
import { countRuns } from '../support/seeds.ts';

function readParam(text: string, env: Readonly<Record<string, string | undefined>> = {}): unknown {
  const { config } = load(configText(`streams:\n  a:\n    path: a\n    params:\n      x: ${text}\n`), {
    ...validEnv,
    ...env,
  });
  return config.streams?.a?.params?.x;
}

describe('placeholders', () => {
  it.each([
    ['${A}', { A: 'one' }, 'one'],
    ['${A}-${B}', { A: 'one', B: 'two' }, 'one-two'],
    ['"${A}"', { A: 'x: y\n- z # "' }, 'x: y\n- z # "'],
    ['${A}', { A: '' }, ''],
    ['${A:-fallback}', {}, 'fallback'],
    ['${A:-fallback}', { A: '' }, 'fallback'],
    ['${A:-fallback}', { A: 'set' }, 'set'],
    ['${A:-}', {}, ''],
    ['${A:-https://x/y}', {}, 'https://x/y'],
    ['${A:-${B}}', { B: 'two' }, 'two'],
    ['${A:-x-${B:-${C:-y}}-z}', {}, 'x-y-z'],
    ['${A:-${B}}', { A: 'set' }, 'set'],
    ['${A:-${B}}', { B: '${C}' }, '${C}'],
    ['${A:-$${B}}', {}, '${B}'],
    ['$${A}', {}, '${A}'],
    ['$$${A}', { A: 'one' }, '$${A}'],
    ['${A}', { A: '${B}' }, '${B}'],
    ['${A}', { A: '$& $1 $$' }, '$& $1 $$'],
    ['$A $ {A}', {}, '$A $ {A}'],
    ['["${A}", b]', { A: 'one' }, ['one', 'b']],
  ])('%s with %j is %j', (text, env, value) => {
    expect(readParam(text, env)).toEqual(value);
  });

  it('names an unset variable, its key and the ways to set it', () => {
    const error = catchConfigError(() => readParam('${MY_TOPIC}'));
    expect(error).toMatchObject({ code: 'config_invalid', exitCode: 2 });
    expect(error.message).toMatch(
      /sluice\.yaml:11:7 streams\.a\.params\.x: the environment variable MY_TOPIC is not set$/,
    );
    expect(error.hint).toContain('export MY_TOPIC=');
  });

  it('does not show a key that stands where the name of its variable should', () => {
    const config = writeConfig(configText('').replace('${ANALYTICS_API_KEY}', '${testkeyabc1234567890}'));
    const error = catchConfigError(() => loadConfig({ path: config, env: validEnv }));
    expect(error.code).toBe('key_missing');
    expect(`${error.message} ${error.hint}`).not.toContain('testkeyabc');
    expect(error.hint).toContain('not the key itself');
  });

  it('nest: the path of a file may name a variable', () => {
    const config = writeConfig(
      configText('').replace('${ANALYTICS_API_KEY}', '${file:keys-${ACCOUNT:-none}}'),
    );
    writeFileSync(path.join(path.dirname(config), 'keys-acme'), 'key-of-acme\n');
    const env = { ...validEnv, ACCOUNT: 'acme' };
    expect(loadConfig({ path: config, env }).config.source.apiKey).toBe('key-of-acme');
    const { message } = catchConfigError(() => loadConfig({ path: config, env: validEnv }));
    expect(message).toMatch(/the file .*keys-none does not exist/);
    expect(catchConfigError(() => readParam("'${file:keys/${ACCOUNT}}'")).message).toContain(
      'the environment variable ACCOUNT is not set',
    );
  });

  it('suggests a default for a setting, and none for a key, which would then be in the file', () => {
    expect(catchConfigError(() => readParam('${MY_TOPIC}')).hint).toContain('${MY_TOPIC:-default}');
    const { hint } = catchConfigError(() => load(configText(), {}));
    expect(hint).toContain('export ANALYTICS_API_KEY=');
    expect(hint).toContain('${file:path}');
    expect(hint).not.toContain(':-');
  });

  it.each(['__proto__', 'constructor', 'toString'])('does not find %s in every environment', (name) => {
    expect(catchConfigError(() => readParam(`\${${name}}`)).message).toContain('is not set');
  });

  it.each(['${}', '${1A}', '${A', '${A-B}', '${file:}', '${ A }'])('refuses %s', (text) => {
    expect(catchConfigError(() => readParam(`'${text}'`, { A: 'x' })).message).toContain(
      'contains a ${ that does not start a placeholder',
    );
  });

  it('lists every unset variable', () => {
    expect(problemsOf(() => readParam('${A}${B}')).slice(1)).toEqual([
      'sluice.yaml:11:7 streams.a.params.x: the environment variable A is not set',
      'sluice.yaml:11:7 streams.a.params.x: the environment variable B is not set',
    ]);
  });

  it('gives numbers, true and false where the setting wants them', () => {
    const { config } = load(
      configText(
        'defaults: { maxInvalidRatio: "${R}" }\nstreams:\n  a: { path: a, enabled: "${E}", pageSize: "${P:-50}" }\n' +
          '  b: { path: b, cursor: "${E}", columns: { note: { exclude: "${X:-true}" } } }\n',
        '  quota:\n    requestsPerHour: ${N}\n',
      ),
      { ...validEnv, N: '1200', E: 'false', R: '0.1' },
    );
    expect(config.source.quota?.requestsPerHour).toBe(1200);
    expect(config.streams?.a).toMatchObject({ enabled: false, pageSize: 50 });
    expect(config.streams?.b).toMatchObject({ cursor: false, columns: { note: { exclude: true } } });
    expect(config.defaults?.maxInvalidRatio).toBe(0.1);
  });

  it.each(['1200x', '0x10', '1e3', ' 5', '', 'Infinity', '5\n'])('takes %j as no number', (value) => {
    expect(
      problemsOf(() => load(configText('', '  quota:\n    reserve: ${N}\n'), { ...validEnv, N: value })),
    ).toEqual(['sluice.yaml:6:5 source.quota.reserve: must be a number, not text']);
  });

  it('does not touch keys', () => {
    expect(
      catchConfigError(() => load(configText('"${A}": x\n'), { ...validEnv, A: 'stateDir' })).message,
    ).toContain('${A}: unknown key');
  });
});

describe('${file:…}', () => {
  function loadWithKeyFile(content: string | Uint8Array, placeholder = '${file:./key file}') {
    const config = writeConfig(configText().replace('${ANALYTICS_API_KEY}', placeholder));
    writeFileSync(path.join(path.dirname(config), 'key file'), content, { mode: 0o600 });
    return loadConfig({ path: config, env: {} });
  }

  it.each(['secret', 'secret\n', 'secret\r\n', '\uFEFFsecret\n'])(
    'reads %j next to the config file',
    (content) => {
      expect(loadWithKeyFile(content).config.source.apiKey).toBe('secret');
    },
  );

  it.each([
    ['${file:missing}', 'x', 'does not exist'],
    ['${file:./key file/x}', 'x', 'does not exist'],
    ['${file:.}', 'x', 'is a folder'],
    ['${file:./key file}', Buffer.from([0xff, 0xfe, 0x41]), 'is not UTF-8 text'],
    ['${file:./key file}', 'x'.repeat(70_000), 'is larger than 64 KB'],
    ['${file:/dev/zero}', 'x', 'is a pipe or a device, and a file is needed'],
  ])('%s', (placeholder, content, message) => {
    const error = catchConfigError(() => loadWithKeyFile(content, placeholder));
    expect(error.code).toBe('key_missing');
    expect(error.message).toContain(message);
  });
});

describe('an optional secret', () => {
  it('is left out when its variable is unset', () => {
    expect(load(configText(), {}, 'optional').config.source.apiKey).toBeUndefined();
    expect(catchConfigError(() => load(configText(), {})).code).toBe('key_missing');
  });

  it('is still reported when its placeholder is malformed', () => {
    const text = configText().replace('${ANALYTICS_API_KEY}', "'${}'");
    expect(catchConfigError(() => load(text, {}, 'optional')).message).toContain(
      'does not start a placeholder',
    );
  });
});

describe('property: no value of a variable alters the structure of the config', () => {
  const hostile = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.constantFrom(
      '\n  evil: 1',
      '${HOME}',
      '$${A}',
      '}',
      '- x',
      '&a *a',
      '!!js x',
      '"',
      "'",
      '# x',
      'a: b',
      '{a: 1}',
    ),
  );

  it('holds for any text in every kind of scalar', () => {
    fc.assert(
      fc.property(hostile, (value) => {
        const text = configText(
          'streams:\n  a:\n    path: a\n    params:\n      plain: x${V}y\n      double: "${V}"\n      list: ["${V}", b]\n      block: |\n        ${V}\n',
        );
        const { config } = load(text, { ...validEnv, V: value });
        const { config: plain } = load(text, { ...validEnv, V: 'v' });
        expect(config.streams?.a?.params).toEqual({
          plain: `x${value}y`,
          double: value,
          list: [value, 'b'],
          block: `${value}\n`,
        });
        expect({ ...config, streams: {} }).toEqual({ ...plain, streams: {} });
        expect(Object.keys(config.streams ?? {})).toEqual(['a']);
      }),
      { numRuns: countRuns(150) },
    );
  });
});
