import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A command line of the docs as it is run here, and how it has to end. */
export interface DocumentedCommand {
  readonly args: readonly string[];
  readonly cwd: string;
  /** It runs until it is stopped. */
  readonly stays: boolean;
  readonly exitCode: number;
}

/** Commands that do not end with 0 in this world. */
const exceptions: Readonly<Record<string, number>> = {
  // Its project has a contract of its own, which is never replaced unasked, and names fewer fields than there are.
  'discover prompts_analytics --yes --write': 2,
  'schema diff --strict': 4,
  'schema export --output contracts/': 2,
  // Nobody is there to answer.
  'state reset prompts_analytics': 2,
};

const STOPPED = 143;

/** Adds what a page leaves to its reader: an address to fill in, a port that is free, a folder without a config. */
export function settleCommand(
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): DocumentedCommand {
  const [command] = args;
  const isFleet = command === 'fleet' && (args[1] === 'worker' || args.includes('--watch'));
  const isSimulator = command === 'simulate' && !args.includes('--list-scenarios');
  const isServed = command === 'report' && args.includes('--serve');
  const stays = command === 'schedule' || isSimulator || isFleet || isServed;
  const isInit = command === 'init';
  const settings =
    isInit && !args.includes('--base-url')
      ? ['--base-url', env['DOCS_BASE_URL'] ?? '']
      : command === 'simulate' && stays
        ? ['--port', '0']
        : isServed
          ? ['--serve-port', '0']
          : [];
  return {
    args: [...args, ...settings],
    cwd:
      isInit && existsSync(path.join(cwd, 'sluice.yaml')) ? mkdtempSync(path.join(tmpdir(), 'init-')) : cwd,
    stays,
    exitCode: stays ? STOPPED : (exceptions[args.join(' ')] ?? 0),
  };
}
