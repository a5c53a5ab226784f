import { type SyncError, toSyncError } from '../../model/errors.ts';
import type { FleetStatus } from '../../model/fleet-report.ts';
import { defineCommand } from '../frame/command.ts';
import type { CliContext } from '../frame/context.ts';
import { flagOption } from '../options/option-kinds.ts';
import { usageError } from '../options/usage-error.ts';
import { loadFleet } from '../steps/load-fleet.ts';

const LOOKS_EVERY_MS = 2_000;
// A log, unlike a screen, keeps every look.
const LOGS_EVERY_MS = 30_000;
const CLEAR_SCREEN = '\u001b[H\u001b[2J';

/** What a fleet is doing. */
export const fleetStatusCommand = defineCommand({
  description:
    'Shows accounts, workers and the runs of the last day, from fleet.database alone: no request, no lock. Times are ' +
    'those of the database.',
  options: {
    watch: flagOption({
      flag: 'watch',
      summary: 'Refresh every 2 s until Ctrl-C, in a log every 30 s; not with --json',
      group: 'Looking:',
    }),
    all: flagOption({
      flag: 'all',
      summary: 'List every account, not only those that need a look',
      group: 'Looking:',
    }),
  },
  examples: [
    ['sluice fleet status', 'What is at work, what failed, what waits'],
    ['sluice fleet status --watch', 'In a second terminal'],
    ['sluice fleet status --json', 'For a monitor'],
  ],
  async run(context, { values, globals }) {
    context.chooseStop('quit');
    const isWatch = values.watch === true;
    if (isWatch && globals.json === true)
      throw usageError(
        '--watch and --json cannot be combined',
        'Run sluice fleet status --json as often as you like.',
      );
    const { settings, names } = await loadFleet(context, globals);
    const isAll = values.all === true;
    const read = () => context.engine.fleet.read(settings, names);
    const status = await read();
    if (isWatch) return watch(context, { first: status, read, isAll });
    const { summarizeFleet } = await import('../../render/render-fleet.ts');
    const text = await draw(context, status, isAll);
    return { exitCode: 0, summary: summarizeFleet(status), result: status, text };
  },
});

/** What is watched, and how it is shown. */
interface Watched {
  readonly first: FleetStatus;
  readonly read: () => Promise<FleetStatus>;
  readonly isAll: boolean;
}

/** Shows the status again and again until it is stopped; while the database is away, the last one. */
async function watch(context: CliContext, { first, read, isAll }: Watched): Promise<never> {
  let status = first;
  let away: SyncError | undefined;
  for (;;) {
    const shown = await draw(context, status, isAll);
    await showUntilNext(context, `${shown}${await describeAway(context, away)}`);
    try {
      status = await read();
      away = undefined;
    } catch (thrown) {
      away = toSyncError(thrown);
      // A database that is restarted comes back; a login that is refused does not.
      if (away.exitCode !== 6) throw thrown;
    }
  }
}

async function draw({ output }: CliContext, status: FleetStatus, isAll: boolean): Promise<string> {
  const { renderFleet } = await import('../../render/render-fleet.ts');
  return renderFleet(status, { isAll, columns: output.stdout.columns() });
}

async function describeAway({ output }: CliContext, away: SyncError | undefined): Promise<string> {
  if (away === undefined) return '';
  const { wrapText } = await import('../../render/wrap-text.ts');
  return `\n\n${wrapText(`${away.message}. The above is older; trying again.`, output.stdout.columns())}`;
}

async function showUntilNext({ clock, output, signal }: CliContext, text: string): Promise<void> {
  const { isTerminal } = output.stdout;
  output.writeResult(`${isTerminal ? CLEAR_SCREEN : ''}${output.mask(text)}\n`);
  await clock.sleep(isTerminal ? LOOKS_EVERY_MS : LOGS_EVERY_MS, signal);
}
