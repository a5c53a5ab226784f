import type { Paging, ReportRequest } from '../../model/report-data.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import { listAccountsToReport } from './accounts-report.ts';
import { chooseAccounts } from './choose-accounts.ts';
import type { PageSource } from './live-pages.ts';
import { loadFleet } from './load-fleet.ts';
import { loadOfflineSettings } from './load-settings.ts';

const live: Paging = { isLive: true };

/** Pages of one config, or of some accounts of one; the config is read again for each. */
export function openPages(
  context: CliContext,
  globals: GlobalValues,
  patterns: readonly string[] | undefined,
  request: ReportRequest,
): PageSource {
  const { engine, signal } = context;
  const choose = () => chooseAccounts(context, globals, patterns);
  return {
    async makeFirst() {
      const known = await choose();
      if (known === undefined)
        return (await engine.makeReport(await loadOfflineSettings(context, globals), request, live)).html;
      const accounts = await listAccountsToReport(context, globals, known.chosen);
      const faults = patterns === undefined ? await engine.findJointFaults(known) : [];
      return (await engine.makeAccountsReport(accounts, { ...request, faults, signal }, live)).html;
    },
    async makeAccount(name) {
      const account = (await choose())?.chosen.find((one) => one.name === name);
      if (account === undefined) return undefined;
      const settings = await loadOfflineSettings({ ...context, account }, globals);
      return (await engine.makeReport(settings, request, { isLive: true, account: name })).html;
    },
  };
}

/** The page of a fleet, from its database. */
export function openFleetPages(context: CliContext, globals: GlobalValues): PageSource {
  return {
    async makeFirst() {
      const { settings, names } = await loadFleet(context, globals);
      return (await context.engine.fleet.makeReport(settings, names, live)).html;
    },
  };
}
