import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProofCache } from '../support/proof-cache.ts';

/** Where the programs of a Python environment are, or why there is none. */
export type PythonEnvironment = { readonly bin: string } | { readonly problem: string };

const LEAST_PYTHON = '3.9';
/** Written last: an environment without it was not finished. */
const FINISHED = 'sluice-finished';

/**
 * A Python environment with these packages, each with its exact version. It is kept in the cache of proofs, so that the
 * next run finds it there.
 */
export function makePythonEnvironment(packages: readonly string[]): PythonEnvironment {
  const names = process.platform === 'win32' ? ['python', 'py'] : ['python3', 'python'];
  const python = names.find((name) => spawnSync(name, ['-c', 'import venv']).status === 0);
  if (python === undefined)
    return { problem: `there is no Python ${LEAST_PYTHON} or newer with its venv module on the PATH` };
  const version = spawnSync(python, ['--version'], { encoding: 'utf8' }).stdout.trim();
  const place = findPlace([version, ...packages]);
  const bin = join(place, process.platform === 'win32' ? 'Scripts' : 'bin');
  if (existsSync(join(place, FINISHED))) return { bin };
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place, { recursive: true });
  const made = spawnSync(python, ['-m', 'venv', place], { encoding: 'utf8' });
  if (made.status !== 0) return { problem: `python -m venv failed: ${lastLine(made.stderr || made.stdout)}` };
  const installed = spawnSync(
    join(bin, 'python'),
    ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages],
    { encoding: 'utf8' },
  );
  if (installed.status !== 0)
    return { problem: `pip could not install ${packages.join(', ')}: ${lastLine(installed.stderr)}` };
  writeFileSync(join(place, FINISHED), '');
  return { bin };
}

/** The same; returns the folder of its programs, and throws where there is none. */
export function requirePython(packages: readonly string[]): string {
  const python = makePythonEnvironment(packages);
  if ('problem' in python) throw new Error(`no Python was run: ${python.problem}`);
  return python.bin;
}

function findPlace(parts: readonly string[]): string {
  const hash = createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 12);
  return join(findProofCache(), `python-${hash}`);
}

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1) ?? '';
}
