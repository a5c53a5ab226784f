import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { CHART } from './chart.ts';
import { root } from './dockerfile.ts';
import { readFile, readYaml } from './manifests.ts';

// What Helm itself makes of the chart is looked at by `npm run test:deploy -- chart`.
const schema = JSON.parse(readFile(`${CHART}/values.schema.json`)) as {
  readonly properties: Readonly<Record<string, unknown>>;
};
const validate = new Ajv({ allErrors: true, formats: { date: true }, strictTypes: false }).compile(schema);
const valuesSchema = z.looseObject({ config: z.looseObject({ source: z.looseObject({}) }) });
const defaults = valuesSchema.parse(readYaml(`${CHART}/values.yaml`));
const examples = globSync(`${CHART}/examples/*.yaml`, { cwd: root }).map((file) =>
  file.replaceAll('\\', '/'),
);

function listErrors(values: unknown): readonly string[] {
  return validate(values) ? [] : (validate.errors ?? []).map(({ instancePath }) => instancePath);
}

describe('the chart', () => {
  it('has the version of the package', () => {
    const { version } = JSON.parse(readFile('package.json')) as { readonly version: string };
    expect(readYaml(`${CHART}/Chart.yaml`)).toMatchObject({ version, appVersion: version });
  });

  it('has values that its schema takes, and a schema that has all of them', () => {
    expect(listErrors(defaults)).toEqual([]);
    expect(Object.keys(defaults).toSorted()).toEqual(
      Object.keys(schema.properties)
        .filter((key) => key !== 'global')
        .toSorted(),
    );
  });

  it.each(examples)('takes %s', (file) => {
    expect(listErrors(readYaml(file))).toEqual([]);
  });

  // Helm prints a value that does not match a pattern, and not one of which a `not` failed.
  it('has no pattern for secrets, so that Helm prints none', () => {
    const at = (keys: readonly string[]) =>
      keys.reduce<unknown>((node, key) => (node as Readonly<Record<string, unknown>>)[key], schema);
    const config = ['properties', 'config', 'properties'];
    for (const path of [
      ['source', 'apiKey'],
      ['source', 'bearerToken'],
      ['fleet', 'encryptionKey'],
    ])
      expect(at([...config, ...path.join(' properties ').split(' ')])).toMatchObject({
        $ref: '#/definitions/secret',
      });
    const { type, anyOf } = at(['definitions', 'secret']) as { type: string; anyOf: object[] };
    expect([type, ...anyOf.flatMap((one) => Object.keys(one))]).toEqual(['string', 'const', 'not']);
  });

  it.each<readonly [path: string, values: unknown]>([
    ['/config/source/apiKey', { config: { source: { ...defaults.config.source, apiKey: 'written-out' } } }],
    [
      '/config/destination/postgres/url',
      { config: { destination: { postgres: { url: 'postgres://u:secret@db/w' } } } },
    ],
    ['/config/fleet/encryptionKey', { config: { fleet: { encryptionKey: 'written-out' } } }],
    [
      '/config/accounts/acme/source/bearerToken',
      { config: { accounts: { acme: { source: { bearerToken: 'written-out' } } } } },
    ],
  ])('refuses a secret that is written out at %s', (path, values) => {
    expect(listErrors(values)).toContain(path);
    const hidden = JSON.stringify(values).replaceAll(/written-out|u:secret/g, '${SECRET}');
    expect(listErrors(JSON.parse(hidden))).not.toContain(path);
  });

  it('never evaluates values as templates, which could read Secrets', () => {
    const templates = globSync(`${CHART}/templates/**/*`, { cwd: root, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'));
    expect(templates.length).toBeGreaterThan(8);
    expect(templates.filter((text) => /\btpl\b|\blookup\b/.test(text))).toEqual([]);
  });
});
