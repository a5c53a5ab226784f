import type { Asked, McpSource } from '../../mcp/source.ts';
import { BugError, ConfigError } from '../../model/errors.ts';
import type { Command } from '../frame/command.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import type { RawFlags } from '../options/resolve-values.ts';
import { usageError } from '../options/usage-error.ts';
import { listChosen } from '../steps/choose-accounts.ts';
import { loadOfflineSettings } from '../steps/load-settings.ts';
import { quarantineListCommand } from './quarantine-list.ts';
import { quarantineShowCommand } from './quarantine-show.ts';
import { runsCommand } from './runs.ts';
import { statusCommand } from './status.ts';

/**
 * Answers the tools of the MCP server with what the commands of Sluice give with `--json`.
 *
 * @param allowed the only accounts that calls may see; all of them when undefined
 */
export function createMcpSource(
  context: CliContext,
  globals: GlobalValues,
  allowed: readonly string[] | undefined,
): McpSource {
  return {
    async query(sql, { account, maxRows, signal }) {
      const chosen = await listChosen(context, globals, await choose(account));
      if (chosen === undefined) {
        const { readersFile } = await loadOfflineSettings(context, globals, { contracts: 'ignored' });
        const options = { maxRows, signal, onlySelects: true };
        return { ...(await context.engine.queryPublished(readersFile, sql, options)), leftOut: [] };
      }
      const names = chosen.chosen.map(({ name }) => name);
      return context.engine.queryAccounts({ names, data: chosen.data }, sql, { maxRows, signal });
    },
    status: (asked) => ask(statusCommand, asked),
    runs: ({ runId, ...asked }) => ask(runsCommand, asked, { argument: runId }),
    quarantine: ({ streams, limit, ...asked }) =>
      ask(quarantineListCommand, asked, { argument: streams, flags: { limit: String(limit) } }),
    quarantined: ({ id, ...asked }) => ask(quarantineShowCommand, asked, { argument: id }),
  };

  /** Names for `--accounts`. Throws for an account that the server may not show. */
  async function choose(account: string | undefined): Promise<readonly string[] | undefined> {
    if (account === undefined) return allowed;
    const shown = allowed && (await listChosen(context, globals, allowed));
    if (shown?.chosen.some(({ name }) => name === account) === false)
      throw usageError(
        `this server does not show the account ${account}`,
        'Leave account out, or name another.',
      );
    return [account];
  }

  async function ask(
    command: Command,
    { account, signal }: Asked,
    { argument, flags = {} }: { readonly argument?: string | undefined; readonly flags?: RawFlags } = {},
  ): Promise<unknown> {
    const accounts = await choose(account);
    const own: CliContext = {
      ...context,
      signal,
      // The server ends in its own way, and stdout belongs to its protocol.
      chooseStop: () => undefined,
      output: { ...context.output, writeResult: refuseOutput },
    };
    const { error, exitCode, result } = await command.run(own, {
      argument,
      announce: refuseOutput,
      flags: {
        ...flags,
        json: true,
        ...(globals.config !== undefined && { config: globals.config }),
        ...(accounts !== undefined && { accounts: accounts.join(',') }),
      },
    });
    // An account that cannot be read is part of the result for several.
    if (exitCode === 0 || error === undefined || isOfSeveral(result)) return result;
    throw new ConfigError(error.message, { code: error.code, hint: error.hint });
  }
}

function isOfSeveral(result: unknown): boolean {
  return typeof result === 'object' && result !== null && 'accounts' in result;
}

function refuseOutput(): never {
  throw new BugError('a command wrote to the stdout of the MCP server', {
    code: 'bug',
    hint: 'This is a bug in Sluice; please report it.',
  });
}
