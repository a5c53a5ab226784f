import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { root } from './dockerfile.ts';
import { readFile, readYaml } from './manifests.ts';

const stepSchema = z.object({
  uses: z.string().optional(),
  run: z.string().optional(),
  with: z.record(z.string(), z.unknown()).optional(),
});
const workflowSchema = z.object({
  permissions: z.object({}).strict(),
  concurrency: z.object({ group: z.string() }),
  jobs: z.record(
    z.string(),
    z.object({
      'runs-on': z.string(),
      'timeout-minutes': z.number(),
      permissions: z.record(z.string(), z.string()),
      strategy: z.object({ matrix: z.record(z.string(), z.array(z.unknown())) }).optional(),
      steps: z.array(stepSchema),
    }),
  ),
});

const folder = '.github/workflows';
const files = readdirSync(join(root, folder)).map((name) => `${folder}/${name}`);
const workflows = files.map((file) => ({
  file,
  text: readFile(file),
  ...workflowSchema.parse(readYaml(file)),
}));
const jobs = workflows.flatMap(({ jobs: found }) => Object.values(found));
const steps = jobs.flatMap((job) => job.steps);

describe('workflows', () => {
  it('may read the code and nothing else', () => {
    expect(jobs.map(({ permissions }) => permissions)).toEqual(jobs.map(() => ({ contents: 'read' })));
    const checkouts = steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'));
    expect(checkouts).toHaveLength(jobs.length);
    for (const { with: inputs } of checkouts) expect(inputs).toEqual({ 'persist-credentials': false });
    expect(workflows.filter(({ text }) => /\bsecrets\.|pull_request_target/.test(text))).toEqual([]);
  });

  it('name actions by commit, with the version next to it', () => {
    const lines = workflows.flatMap(({ text }) => text.match(/^.*\buses:.*$/gm) ?? []);
    expect(lines.length).toBeGreaterThan(3);
    expect(
      lines.filter((line) => !/uses: actions\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line)),
    ).toEqual([]);
  });

  it('put nothing of an event into a shell', () => {
    expect(steps.filter(({ run }) => run?.includes('${{'))).toEqual([]);
  });

  it('run scripts that the project has', () => {
    const { scripts } = JSON.parse(readFile('package.json')) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    const named = steps.flatMap(({ run = '' }) =>
      [...run.matchAll(/npm run ([\w:]+)/g)].map(([, name = '']) => name),
    );
    expect(new Set(named)).toEqual(
      new Set(['soak', 'test:browser', 'test:clocks', 'test:deploy', 'test:full', 'test:interop']),
    );
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });

  it('test both versions of Node on the three systems', () => {
    const matrix = jobs.find(({ strategy }) => strategy !== undefined)?.strategy?.matrix;
    expect(matrix).toEqual({
      os: [
        expect.stringMatching(/^ubuntu-/),
        expect.stringMatching(/^macos-/),
        expect.stringMatching(/^windows-/),
      ],
      node: [22, 24],
    });
  });
});
