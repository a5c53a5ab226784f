import { extname, join } from 'node:path';
import { AbortedError } from '../../model/errors.ts';
import { readMachineMb } from '../../warehouse/engine-memory.ts';
import type { CallArguments } from '../frame/call-arguments.ts';
import { defineCommand } from '../frame/command.ts';
import { durationOption } from '../options/option-kinds.ts';
import { usageError } from '../options/usage-error.ts';
import { accountsOption, listChosen } from '../steps/choose-accounts.ts';
import { DEFAULT_CONFIG, loadOfflineSettings } from '../steps/load-settings.ts';

const DEFAULT_TIMEOUT_MS = 30_000;

/** Enough for the engine's own limit, and for what it hands out. */
const MOST_MB = 2_560;

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
    if (stdio === undefined)
      throw usageError('sluice mcp needs its own stdin and stdout', 'Let an MCP client start it.');
    context.chooseStop('close');
    // A config that cannot be read is told before a client believes that the server works.
    const chosen = await listChosen(context, globals, values.accounts);
    if (chosen === undefined) await loadOfflineSettings(context, globals, { contracts: 'ignored' });
    const { serveMcp } = await import('../../mcp/serve-mcp.ts');
    const { CallProcess } = await import('../../mcp/call-process.ts');
    const mostBytes = chooseMostBytes();
    const told: CallArguments = { globals, accounts: values.accounts, mostBytes };
    const calls = new CallProcess({
      file: join(import.meta.dirname, '..', `mcp-main${extname(import.meta.filename)}`),
      args: [JSON.stringify(told)],
      env: context.env,
      mostBytes,
    });
    const served = serveMcp({
      answer: (tool, input, asked) => calls.answer(tool, input, asked),
      version: await engine.readVersion(),
      ...stdio,
      clock,
      callTimeoutMs: values.callTimeout ?? DEFAULT_TIMEOUT_MS,
      signal,
      mask: output.mask,
      onReady: () =>
        output.writeNote(`MCP server on stdin and stdout for ${globals.config ?? DEFAULT_CONFIG}`),
      onError: (error) => output.writeNote(`warning: ${describeProblem(error)}`),
    });
    await served.finally(() => calls.close());
    const reason: unknown = signal.reason;
    const exitCode = reason instanceof AbortedError ? reason.exitCode : 0;
    return { exitCode, summary: 'the client closed the connection', result: null, text: '' };
  },
});

/** Memory for the process that answers calls: it shares the machine with the assistant. */
function chooseMostBytes(): number {
  return Math.min(MOST_MB, readMachineMb() / 2) * 2 ** 20;
}

/** What the SDK finds wrong with a message of the client is a page of JSON. */
function describeProblem({ message }: Error): string {
  return message.startsWith('[') || message.startsWith('{')
    ? 'the client sent a message that is not part of the protocol; it was ignored'
    : message;
}
