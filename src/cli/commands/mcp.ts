import { AbortedError } from '../../model/errors.ts';
import { defineCommand } from '../frame/command.ts';
import { durationOption } from '../options/option-kinds.ts';
import { usageError } from '../options/usage-error.ts';
import { accountsOption, listChosen } from '../steps/choose-accounts.ts';
import { DEFAULT_CONFIG, loadOfflineSettings } from '../steps/load-settings.ts';
import { createMcpSource } from './mcp-source.ts';

const DEFAULT_TIMEOUT_MS = 30_000;

/** The tables for AI assistants. */
export const mcpCommand = defineCommand({
  description:
    'Serves the published tables to an AI assistant by the Model Context Protocol, on stdin and stdout: list and describe ' +
    'tables, run SELECTs, read status, runs and quarantine. It only reads, needs no key and no network, and sees each newer ' +
    'file at once. An MCP client starts it, and it ends with its client. Needs the package @modelcontextprotocol/server.',
  options: {
    callTimeout: durationOption({
      flag: 'call-timeout',
      summary: 'Longest time for one call (default 30s)',
      group: 'Calls:',
      example: '30s',
      allowsZero: false,
    }),
    accounts: accountsOption,
  },
  examples: [
    ['sluice mcp', 'With ./sluice.yaml; a client names it with --config'],
    ['sluice mcp --call-timeout 2m', 'For slow queries'],
    ['sluice mcp --accounts acme', 'For an assistant that may see one account alone'],
  ],
  async run(context, { values, globals }) {
    const { clock, engine, output, signal, stdio } = context;
    if (globals.json === true || stdio === undefined)
      throw usageError(
        'sluice mcp speaks its protocol on stdout, so it has no --json',
        'Leave out --json and SLUICE_JSON.',
      );
    context.chooseStop('close');
    // A config that cannot be read is told before a client believes that the server works.
    const chosen = await listChosen(context, globals, values.accounts);
    if (chosen === undefined) await loadOfflineSettings(context, globals, { contracts: 'ignored' });
    const { serveMcp } = await import('../../mcp/serve-mcp.ts');
    output.writeNote(`MCP server on stdin and stdout for ${globals.config ?? DEFAULT_CONFIG}`);
    await serveMcp({
      source: createMcpSource(context, globals, values.accounts),
      version: await engine.readVersion(),
      ...stdio,
      clock,
      callTimeoutMs: values.callTimeout ?? DEFAULT_TIMEOUT_MS,
      signal,
      mask: output.mask,
      onError: (error) => output.writeNote(`warning: ${error.message}`),
    });
    const reason: unknown = signal.reason;
    const exitCode = reason instanceof AbortedError ? reason.exitCode : 0;
    return { exitCode, summary: 'the client closed the connection', result: null, text: '' };
  },
});
