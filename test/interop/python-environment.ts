import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** Where the programs of a Python environment are, or why there is none. */
export type PythonEnvironment = { readonly bin: string } | { readonly problem: string };

const LEAST_PYTHON = '3.9';

/** Makes a Python environment with these packages below a temporary folder. */
export function makePythonEnvironment(folder: string, packages: readonly string[]): PythonEnvironment {
  const names = process.platform === 'win32' ? ['python', 'py'] : ['python3', 'python'];
  const python = names.find((name) => spawnSync(name, ['-c', 'import venv']).status === 0);
  if (python === undefined)
    return { problem: `there is no Python ${LEAST_PYTHON} or newer with its venv module on the PATH` };
  const place = join(folder, 'python');
  const made = spawnSync(python, ['-m', 'venv', place], { encoding: 'utf8' });
  if (made.status !== 0) return { problem: `python -m venv failed: ${lastLine(made.stderr || made.stdout)}` };
  const bin = join(place, process.platform === 'win32' ? 'Scripts' : 'bin');
  const installed = spawnSync(
    join(bin, 'python'),
    ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages],
    { encoding: 'utf8' },
  );
  if (installed.status !== 0)
    return { problem: `pip could not install ${packages.join(', ')}: ${lastLine(installed.stderr)}` };
  return { bin };
}

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1) ?? '';
}
