import { type ConfigAccount, listAccounts } from '../../config/accounts.ts';
import { readConfigFile } from '../../config/config-file.ts';
import { withoutSecretVariables } from '../../config/secret-variables.ts';
import { openFleetDatabase } from '../../fleet/database/open-database.ts';
import { measureClockLead } from '../../fleet/database/clock-lead.ts';
import { connectQuota } from '../../fleet/database/connect-quota.ts';
import { packStage, packState } from '../../fleet/parcel/pack-state.ts';
import { unpackState } from '../../fleet/parcel/unpack-state.ts';
import { PostgresQuotaStore } from '../../fleet/quota/postgres-quota-store.ts';
import { LaneLink, type LanePort } from '../../fleet/run/lane-link.ts';
import { AccountRun, type LaneTools } from '../../fleet/run/run-account.ts';
import type { Parcels } from '../../fleet/run/travelling-state.ts';
import { openStore } from '../../fleet/store/open-store.ts';
import { systemClock } from '../../model/clock.ts';
import { ConfigError } from '../../model/errors.ts';
import type { FleetSettings } from '../../model/fleet.ts';
import type { Settings } from '../../model/settings.ts';
import { runSync } from '../../sync/run.ts';
import type { Engine } from '../frame/engine.ts';
import type { LaneArguments } from './lane-arguments.ts';
import { loadFleet } from './fleet-calls.ts';

/** The process of a lane, and what it is given. */
export interface LaneHostProcess extends LanePort {
  readonly engine: Pick<Engine, 'loadSettings' | 'notifyAccounts' | 'openTelemetry'>;
  readonly env: NodeJS.ProcessEnv;
  /** Hides the secrets of the environment in a text. */
  readonly mask: (text: string) => string;
  /** Ends it at once. */
  die(): void;
}

/** For the store, where it is in the database. */
const CONNECTIONS = 1;

/** Runs the accounts that the worker gives, one after the other, until the worker is gone. */
export async function serveLane(given: LaneArguments, host: LaneHostProcess): Promise<void> {
  const request = { path: given.config, env: host.env, nowMs: systemClock.now() };
  const settings = await loadFleet(request);
  const database = await openFleetDatabase(settings, { name: 'sluice fleet lane', connections: CONNECTIONS });
  const store = await openStore(settings.store, { reach: settings.reach, database });
  const traces = await openTraces(given, host);
  let accounts: readonly ConfigAccount[] = [];
  const tools: LaneTools = {
    store,
    parcels: createParcels(settings),
    clock: systemClock,
    readClockLead: () => measureClockLead(database, systemClock),
    scratch: given.scratch,
    extensions: given.extensions,
    putEveryPages: settings.putEveryPages,
    loadSettings: async (account) => {
      accounts = listAccounts(readConfigFile(given.config), host.env)?.accounts ?? [];
      return loadAccount({ path: given.config, accounts }, account, host);
    },
    runSync,
    openSharedQuota: ({ keyHash }) =>
      new PostgresQuotaStore({ connect: () => connectQuota(settings), keyHash, clock: systemClock }),
    followTraces: traces.followRun,
    takeTraceWarnings: traces.takeWarnings,
    notify: async (own, { account, report, error }) => {
      const run = report === undefined ? { error } : { report };
      const told = [{ account, settings: own, run: run as { readonly report: NonNullable<typeof report> } }];
      const effects = { clock: systemClock, env: withoutSecretVariables(host.env, accounts) };
      return host.engine.notifyAccounts(
        told,
        { exitCode: report?.exitCode ?? error?.exitCode ?? 1, accountCount: 1 },
        effects,
      );
    },
  };
  const link = new LaneLink(host, { clock: systemClock, leaseMs: settings.leaseMs });
  await link.serve((run, worker) => {
    const accountRun = new AccountRun(tools, run, worker);
    return {
      execute: () => accountRun.execute(),
      // The spans of a run are sent while its folder is cleared; a receiver that is away delays no run.
      cleanUp: (isAccepted) => {
        traces.send();
        return accountRun.cleanUp(isAccepted);
      },
    };
  });
  // Without its worker nothing that it does counts; killed, it leaves nothing half done.
  host.die();
}

/** Traces of the runs of a lane, which are sent between them. */
interface LaneTraces {
  readonly followRun: LaneTools['followTraces'];
  readonly takeWarnings: LaneTools['takeTraceWarnings'];
  readonly send: () => void;
}

async function openTraces(
  { isFirst }: LaneArguments,
  { env, engine, mask }: LaneHostProcess,
): Promise<LaneTraces> {
  const opened = await engine.openTelemetry({ env, clock: systemClock, mask, isWithinTrace: false });
  const { telemetry } = opened;
  let warnings = isFirst ? opened.warnings : [];
  return {
    followRun: (run) => (telemetry === undefined ? [] : [telemetry.followRun(run)]),
    takeWarnings: () => {
      const taken = warnings;
      warnings = [];
      return taken;
    },
    send: () => {
      void telemetry?.flush().then((lost) => (warnings = [...warnings, ...lost]));
    },
  };
}

/** The config is read for each run, as it is then. */
async function loadAccount(
  { path, accounts }: { readonly path: string; readonly accounts: readonly ConfigAccount[] },
  name: string,
  { env, engine }: Pick<LaneHostProcess, 'env' | 'engine'>,
): Promise<Settings> {
  const account = accounts.find((one) => one.name === name);
  if (account === undefined)
    throw new ConfigError(`no account is called ${name}`, {
      code: 'config_invalid',
      hint: 'It was removed from the config. Nothing was requested; its state and its rows stay.',
    });
  return engine.loadSettings({ path, env, nowMs: systemClock.now(), account });
}

function createParcels({ encryptionKey: key }: FleetSettings): Parcels {
  return {
    async pack(stateDir, { file, name }, leavesRows) {
      await packState(stateDir, file, { key, name, ...(leavesRows && { leaveOut: 'work-file' }) });
    },
    async packStage(stateDir, { file, name }) {
      await packStage(stateDir, file, { key, name });
    },
    async unpack({ file, name }, folder) {
      await unpackState(file, folder, { key, name });
    },
  };
}
