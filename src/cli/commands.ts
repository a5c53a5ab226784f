import type { Command } from './command.ts';

/** A command in the list: its file is loaded when the command is called. */
export interface CommandEntry {
  /** One word, or two for a command of a group. */
  readonly name: string;
  /** Its line in the list of commands. */
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

/** Every command, in the order of `--help`. */
export const commands: readonly CommandEntry[] = [
  {
    name: 'demo',
    summary: 'See it work: no key, no network, a few seconds',
    load: async () => (await import('./commands/demo.ts')).demoCommand,
  },
  {
    name: 'init',
    summary: 'Write a commented sluice.yaml',
    load: async () => (await import('./commands/init.ts')).initCommand,
  },
  {
    name: 'check',
    summary: 'Test config, key, quota, endpoints, warehouse and lock',
    load: async () => (await import('./commands/check.ts')).checkCommand,
  },
  {
    name: 'plan',
    summary: 'Rows, pages, requests and time of the next sync',
    load: async () => (await import('./commands/plan.ts')).planCommand,
  },
  {
    name: 'sync',
    summary: 'Sync once, inside the quota',
    load: async () => (await import('./commands/sync.ts')).syncCommand,
  },
  {
    name: 'status',
    summary: 'Freshness, watermark, verdict and rows of each stream',
    load: async () => (await import('./commands/status.ts')).statusCommand,
  },
  {
    name: 'runs',
    summary: 'The last runs, or one run in detail',
    load: async () => (await import('./commands/runs.ts')).runsCommand,
  },
  {
    name: 'query',
    summary: 'Run SQL over the published file, read-only',
    load: async () => (await import('./commands/query.ts')).queryCommand,
  },
  {
    name: 'simulate',
    summary: 'Serve a simulated API to try things on',
    load: async () => (await import('./commands/simulate.ts')).simulateCommand,
  },
  {
    name: 'config show',
    summary: 'The effective config and where each value comes from',
    load: async () => (await import('./commands/config-show.ts')).configShowCommand,
  },
];
