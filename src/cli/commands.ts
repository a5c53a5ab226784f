import type { Command } from './frame/command.ts';

/** A command in the list. Its file is loaded when the command is called. */
export interface CommandEntry {
  /** One word, or two for a command of a group. */
  readonly name: string;
  /** Its line in the list of commands. */
  readonly summary: string;
  /** Its stdout is for another program, in lines of a protocol: nothing else may be there. */
  readonly speaksProtocol?: true;
  readonly load: () => Promise<Command>;
}

/** The line of a group of commands; by default the summaries of its members. */
export const groupSummaries: Readonly<Record<string, string>> = {
  accounts: 'Accounts of the config: list, remove',
  airbyte: 'A source for Airbyte, as `source-sluice`: spec, check, discover, read',
  fleet: 'Accounts over several machines: init, worker, status, run, pause, resume, repair',
  lake: 'DuckLake: maintain',
  quarantine: 'Records that could not become rows: list, show, retry',
  schema: 'Learned columns and contracts: show, diff, export',
  state: 'What each scan reached: show, export, import, reset',
};

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
    name: 'discover',
    summary: 'Fields, keys, cursors and filters, from a few records',
    load: async () => (await import('./commands/discover.ts')).discoverCommand,
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
    name: 'report',
    summary: 'One HTML page: freshness, rows, quota, schema, quarantine',
    load: async () => (await import('./commands/report.ts')).reportCommand,
  },
  {
    name: 'docs',
    summary: 'One HTML page: what the tables and columns are',
    load: async () => (await import('./commands/docs.ts')).docsCommand,
  },
  {
    name: 'query',
    summary: 'Run SQL over the published file, read-only',
    load: async () => (await import('./commands/query.ts')).queryCommand,
  },
  {
    name: 'mcp',
    summary: 'Let AI assistants read the tables, by the Model Context Protocol',
    speaksProtocol: true,
    load: async () => (await import('./commands/mcp.ts')).mcpCommand,
  },
  {
    name: 'accounts list',
    summary: 'The accounts of the config, and what is left of others',
    load: async () => (await import('./commands/accounts-list.ts')).accountsListCommand,
  },
  {
    name: 'accounts remove',
    summary: 'Delete what is left of an account',
    load: async () => (await import('./commands/accounts-remove.ts')).accountsRemoveCommand,
  },
  {
    name: 'quarantine list',
    summary: 'Records that could not become rows, and why',
    load: async () => (await import('./commands/quarantine-list.ts')).quarantineListCommand,
  },
  {
    name: 'quarantine show',
    summary: 'One of them in full',
    load: async () => (await import('./commands/quarantine-show.ts')).quarantineShowCommand,
  },
  {
    name: 'quarantine retry',
    summary: 'Load those that the contract now accepts, without a request',
    load: async () => (await import('./commands/quarantine-retry.ts')).quarantineRetryCommand,
  },
  {
    name: 'schema show',
    summary: 'Learned columns, their types, fields and age',
    load: async () => (await import('./commands/schema-show.ts')).schemaShowCommand,
  },
  {
    name: 'schema diff',
    summary: 'How contract files and learned columns differ',
    load: async () => (await import('./commands/schema-diff.ts')).schemaDiffCommand,
  },
  {
    name: 'schema export',
    summary: 'As JSON Schema, TypeScript types, dbt sources or SQL',
    load: async () => (await import('./commands/schema-export.ts')).schemaExportCommand,
  },
  {
    name: 'verify',
    summary: 'Check that files, checkpoints and archive agree; or the API',
    load: async () => (await import('./commands/verify.ts')).verifyCommand,
  },
  {
    name: 'rebuild',
    summary: 'Rebuild tables from archived pages, without a request',
    load: async () => (await import('./commands/rebuild.ts')).rebuildCommand,
  },
  {
    name: 'export',
    summary: 'Copies of the tables for readers by path: Iceberg without a catalog',
    load: async () => (await import('./commands/export.ts')).exportCommand,
  },
  {
    name: 'airbyte spec',
    summary: 'The keys of a connection config, as Airbyte asks for them',
    speaksProtocol: true,
    load: async () => (await import('./commands/airbyte-spec.ts')).airbyteSpecCommand,
  },
  {
    name: 'airbyte check',
    summary: 'Test a connection for Airbyte',
    speaksProtocol: true,
    load: async () => (await import('./commands/airbyte-check.ts')).airbyteCheckCommand,
  },
  {
    name: 'airbyte discover',
    summary: 'Streams and columns for Airbyte; runs the first sync if there was none',
    speaksProtocol: true,
    load: async () => (await import('./commands/airbyte-discover.ts')).airbyteDiscoverCommand,
  },
  {
    name: 'airbyte read',
    summary: 'Sync, then send Airbyte what changed since its state',
    speaksProtocol: true,
    load: async () => (await import('./commands/airbyte-read.ts')).airbyteReadCommand,
  },
  {
    name: 'singer',
    summary: 'Be a tap of Singer and Meltano, as `tap-sluice`',
    speaksProtocol: true,
    load: async () => (await import('./commands/singer.ts')).singerCommand,
  },
  {
    name: 'fleet init',
    summary: 'Make the tables of a fleet in Postgres, or bring them up to date',
    load: async () => (await import('./commands/fleet-init.ts')).fleetInitCommand,
  },
  {
    name: 'fleet worker',
    summary: 'Stay, take accounts that are due, and sync them',
    load: async () => (await import('./commands/fleet-worker.ts')).fleetWorkerCommand,
  },
  {
    name: 'fleet status',
    summary: 'Accounts, workers and runs of a fleet',
    load: async () => (await import('./commands/fleet-status.ts')).fleetStatusCommand,
  },
  {
    name: 'fleet run',
    summary: 'Make accounts due now',
    load: async () => (await import('./commands/fleet-run.ts')).fleetRunCommand,
  },
  {
    name: 'fleet pause',
    summary: 'Begin no further run of accounts',
    load: async () => (await import('./commands/fleet-pause.ts')).fleetPauseCommand,
  },
  {
    name: 'fleet resume',
    summary: 'Let runs of accounts begin again',
    load: async () => (await import('./commands/fleet-resume.ts')).fleetResumeCommand,
  },
  {
    name: 'fleet repair',
    summary: 'Free an account whose worker is stuck',
    load: async () => (await import('./commands/fleet-repair.ts')).fleetRepairCommand,
  },
  {
    name: 'lake maintain',
    summary: 'Join small files and remove old snapshots of a DuckLake',
    load: async () => (await import('./commands/lake-maintain.ts')).lakeMaintainCommand,
  },
  {
    name: 'state show',
    summary: 'What each scan reached',
    load: async () => (await import('./commands/state-show.ts')).stateShowCommand,
  },
  {
    name: 'state export',
    summary: 'The checkpoints as JSON',
    load: async () => (await import('./commands/state-export.ts')).stateExportCommand,
  },
  {
    name: 'state import',
    summary: 'Restore exported checkpoints',
    load: async () => (await import('./commands/state-import.ts')).stateImportCommand,
  },
  {
    name: 'state reset',
    summary: 'Forget checkpoints: the next sync reads everything',
    load: async () => (await import('./commands/state-reset.ts')).stateResetCommand,
  },
  {
    name: 'schedule',
    summary: 'Keep running and sync on a schedule; metrics and health',
    load: async () => (await import('./commands/schedule.ts')).scheduleCommand,
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
