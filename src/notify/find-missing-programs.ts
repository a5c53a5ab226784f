import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, resolve } from 'node:path';
import { type CommandTarget, keyOfEvent, type NotifyEvent, type NotifyRules } from '../model/notify.ts';

/** A program of `notify` that could not be started. */
export interface MissingProgram {
  /** The setting that names it, e.g. `notify.onFailure`. */
  readonly setting: string;
  readonly program: string;
  readonly flaw: 'does not exist' | 'is a folder' | 'is not executable';
}

/** Where programs are looked for. */
export interface ProgramScope {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
}

// Where a system looks by default.
const DEFAULT_PATH = '/usr/bin:/bin';

/** Programs that a notice would not find. Otherwise this would only show once a notice is needed. */
export function findMissingPrograms(rules: NotifyRules, scope: ProgramScope): readonly MissingProgram[] {
  return Object.entries(rules).flatMap(([event, target]) => {
    if (target.kind === 'webhook') return [];
    const flaws = listCandidates(target, scope).map(findFlaw);
    if (flaws.includes(undefined)) return [];
    const setting = `notify.${keyOfEvent[event as NotifyEvent]}`;
    // Of several places, one where something exists is the most informative.
    const flaw = flaws.find((one) => one !== 'does not exist') ?? 'does not exist';
    return [{ setting, program: target.program, flaw }];
  });
}

function listCandidates({ program, cwd }: CommandTarget, { env, platform }: ProgramScope): readonly string[] {
  const path = env['PATH'] ?? env['Path'] ?? DEFAULT_PATH;
  const folders = path.split(delimiter).filter((folder) => folder !== '');
  const files = isAbsolute(program) ? [program] : folders.map((folder) => resolve(cwd, folder, program));
  return platform === 'win32' ? files.flatMap((file) => [file, `${file}.com`, `${file}.exe`]) : files;
}

function findFlaw(file: string): MissingProgram['flaw'] | undefined {
  try {
    if (statSync(file).isDirectory()) return 'is a folder';
  } catch {
    return 'does not exist';
  }
  try {
    accessSync(file, constants.X_OK);
    return undefined;
  } catch {
    return 'is not executable';
  }
}
