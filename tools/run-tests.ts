import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');

/** What a run of the tests came to. */
export interface TestCounts {
  readonly passed: number;
  /** Each failed test, or file that could not be loaded, with its reason. */
  readonly failed: readonly string[];
  /** Each skipped test. */
  readonly skipped: readonly string[];
  /** The files that took longest, the slowest first; in seconds. */
  readonly slowest: readonly { readonly file: string; readonly seconds: number }[];
}

const MOST_SLOW = 12;

interface FileResult {
  readonly name: string;
  readonly status: string;
  readonly message?: string;
  /** Epoch ms. */
  readonly startTime: number;
  readonly endTime: number;
  readonly assertionResults: readonly {
    readonly fullName: string;
    readonly status: string;
    readonly failureMessages?: readonly string[];
  }[];
}

interface VitestEnd {
  readonly exitCode: number | null;
  readonly output: string;
}

/** How much of what vitest printed last is shown where no test explains how it ended. */
const MOST_OUTPUT_CHARS = 10_000;

/** Runs vitest with these arguments, in silence, and counts. */
export async function runTests(args: readonly string[], env: NodeJS.ProcessEnv): Promise<TestCounts> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-tests-'));
  try {
    const file = join(folder, 'results.json');
    // Without `dot` nobody would print an error that belongs to no test, e.g. an unhandled rejection.
    const reporters = ['--reporter', 'dot', '--reporter', 'json', '--outputFile.json', file];
    const end = await runVitest([...args, ...reporters], env);
    return count(file, end);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function count(file: string, { exitCode, output }: VitestEnd): TestCounts {
  let results: readonly FileResult[];
  try {
    ({ testResults: results } = JSON.parse(readFileSync(file, 'utf8')) as { testResults: FileResult[] });
  } catch {
    return { passed: 0, failed: [`vitest wrote no results\n${output}`], skipped: [], slowest: [] };
  }
  const tests = results.flatMap(({ name, assertionResults }) =>
    assertionResults.map((test) => ({ ...test, title: `${relative(root, name)}: ${test.fullName}` })),
  );
  const broken = results.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  );
  const failed = [
    // A worker that crashes leaves no message: what vitest printed last says how it ended.
    ...broken.map(
      ({ name, message }) => `${relative(root, name)}\n${message || output.slice(-MOST_OUTPUT_CHARS)}`,
    ),
    ...tests
      .filter(({ status }) => status === 'failed')
      .map(({ title, failureMessages = [] }) => `${title}\n${failureMessages.join('\n')}`),
  ];
  if (exitCode !== 0 && failed.length === 0)
    failed.push(
      `vitest ended with exit code ${exitCode}, though no test failed\n${output.slice(-MOST_OUTPUT_CHARS)}`,
    );
  return {
    passed: tests.filter(({ status }) => status === 'passed').length,
    failed,
    skipped: tests
      .filter(({ status }) => status !== 'passed' && status !== 'failed')
      .map(({ title }) => title),
    slowest: results
      .map(({ name, startTime, endTime }) => ({
        file: relative(root, name),
        seconds: Math.round((endTime - startTime) / 1_000),
      }))
      .toSorted((a, b) => b.seconds - a.seconds)
      .slice(0, MOST_SLOW),
  };
}

function runVitest(args: readonly string[], env: NodeJS.ProcessEnv): Promise<VitestEnd> {
  const child = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...args], {
    cwd: root,
    env: { ...env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  child.stderr.on('data', (chunk) => (output += String(chunk)));
  return new Promise((done, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) => done({ exitCode, output }));
  });
}
