import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isInContext, listInstructions, readDockerfile, readPairs, root } from './dockerfile.ts';

const { args, stages } = readDockerfile();
const last = stages.at(-1) ?? { name: '', base: '', instructions: [] };
const all = stages.flatMap(({ instructions }) => instructions);
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };
const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>;
};

describe('the base image', () => {
  it('is the Node that the tests run on, on glibc, by version', () => {
    expect(stages[0]?.base).toBe(`node:${args['NODE_VERSION']}-bookworm-slim`);
    expect(args['NODE_VERSION']).toBe(lock.packages['node_modules/node']?.version);
  });

  it('is pinned to its bytes where a digest is given', () => {
    const digest = `sha256:${'ab12'.repeat(16)}`;
    const pinned = readDockerfile({ NODE_DIGEST: digest });
    expect(pinned.stages[0]?.base).toBe(`node:${args['NODE_VERSION']}-bookworm-slim@${digest}`);
  });

  it('is one image for all stages, and nothing else is fetched from outside', () => {
    const names = stages.map(({ name }) => name);
    expect(stages.slice(1).map(({ base }) => base)).toEqual(stages.slice(1).map(() => names[0]));
    const from = listInstructions(last, 'COPY').flatMap(({ flags }) => flags['from'] ?? []);
    expect(from.length).toBeGreaterThan(0);
    expect(from.filter((name) => !names.includes(name))).toEqual([]);
    expect(all.filter(({ keyword }) => keyword === 'ADD')).toEqual([]);
    expect(all.filter(({ text }) => /\b(curl|wget|apt|apt-get|sudo)\b/.test(text))).toEqual([]);
  });
});

describe('what the image is made of', () => {
  it('is installed from the lock file, without scripts, and without what only development needs', () => {
    const installs = all.filter(({ keyword, text }) => keyword === 'RUN' && /^npm (?!run )/.test(text));
    expect(installs.map(({ text }) => text)).toEqual([
      'npm ci --ignore-scripts',
      'npm ci --ignore-scripts --omit=dev',
    ]);
    const kept = listInstructions(last, 'COPY').filter(({ text }) => text.includes('node_modules'));
    const source = stages.find(({ name }) => name === kept[0]?.flags['from']);
    // None of the packages of a fleet, unless they are asked for.
    const added = source && listInstructions(source, 'RUN').map(({ text }) => text);
    expect(added).toEqual(['node add-packages.ts /all/node_modules node_modules $PACKAGES']);
    const [copied] = source === undefined ? [] : listInstructions(source, 'COPY');
    const before = stages.find(({ name }) => name === copied?.flags['from']);
    expect(before && listInstructions(before, 'RUN').map(({ text }) => text)).toEqual([installs[1]?.text]);
  });

  it('is all let in by .dockerignore', () => {
    const copied = all
      .filter(({ keyword, flags }) => keyword === 'COPY' && flags['from'] === undefined)
      .flatMap(({ text }) => text.split(/\s+/).slice(0, -1));
    expect(copied.length).toBeGreaterThan(5);
    expect(copied.filter((path) => !isInContext(path))).toEqual([]);
  });

  it.each([
    '.git/config',
    '.env',
    '.sluice/work.duckdb',
    'sluice.yaml',
    'warehouse.duckdb',
    'sluice-demo/warehouse.duckdb',
    'node_modules/zod/package.json',
    'dist/src/index.js',
    'docker/secrets/analytics_api_key',
    'test/package.test.ts',
  ])('is not %s', (path) => {
    expect(isInContext(path)).toBe(false);
  });
});

describe('a container', () => {
  it('runs as a number, not as root, to the end', () => {
    expect(listInstructions(last, 'USER').map(({ text }) => text)).toEqual(['10001:10001']);
  });

  it('starts node itself, so that signals reach it', () => {
    for (const keyword of ['ENTRYPOINT', 'CMD', 'HEALTHCHECK']) {
      const found = listInstructions(last, keyword);
      expect(found, keyword).toHaveLength(1);
      expect(found[0]?.words, keyword).toBeDefined();
    }
    expect(listInstructions(last, 'ENTRYPOINT')[0]?.words).toEqual(['node', '/sluice/dist/src/cli/bin.js']);
    expect(listInstructions(last, 'STOPSIGNAL').map(({ text }) => text)).toEqual(['SIGTERM']);
  });

  it('spends no quota unless it is told what to do', () => {
    expect(listInstructions(last, 'CMD')[0]?.words).toEqual(['--help']);
  });

  it('holds no secret and says which version it is', () => {
    const names = all.filter(({ keyword }) => ['ARG', 'ENV'].includes(keyword)).map(({ text }) => text);
    expect(names.filter((text) => /key|secret|token|password/i.test(text))).toEqual([]);
    const labels = readPairs(listInstructions(last, 'LABEL')[0] ?? fail());
    expect(labels).toMatchObject({
      'org.opencontainers.image.title': 'sluice',
      'org.opencontainers.image.version': manifest.version,
      'org.opencontainers.image.licenses': 'MIT',
    });
  });

  it('keeps what it writes below /data', () => {
    const environment = readPairs(listInstructions(last, 'ENV')[0] ?? fail());
    expect(environment).toEqual({
      NODE_ENV: 'production',
      NODE_DISABLE_COMPILE_CACHE: '1',
      HOME: '/data',
      SLUICE_CONFIG: '/etc/sluice/sluice.yaml',
    });
    expect(listInstructions(last, 'WORKDIR').at(-1)?.text).toBe('/data');
  });
});

function fail(): never {
  throw new Error('the Dockerfile lacks that instruction');
}
