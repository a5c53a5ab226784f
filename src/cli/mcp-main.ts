import { randomBytes } from 'node:crypto';
import { createAnswerCall } from '../mcp/answer-call.ts';
import { type CallQuestion, endBeyond, serveCalls } from '../mcp/serve-calls.ts';
import { systemClock } from '../model/clock.ts';
import { redact } from '../text/redact.ts';
import { createMcpSource } from './commands/mcp-source.ts';
import { keepCompiledCode } from './compile-cache.ts';
import { defaultEngine } from './default-engine.ts';
import type { CallArguments } from './frame/call-arguments.ts';
import { boundHeap, collectSecrets, hideSqliteWarning } from './prepare-process.ts';
import { createOutput } from './terminal/output.ts';

// The program that answers the calls of an MCP client: `sluice mcp` starts it, and ends it.
const { globals, accounts, mostBytes } = JSON.parse(process.argv[2] ?? '{}') as CallArguments;
endBeyond(mostBytes);
keepCompiledCode();
hideSqliteWarning(process);
boundHeap();
// A statement that runs would keep it.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
const { env, stdout, stderr } = process;
const secrets = new Set(collectSecrets(env));
const output = createOutput({ stdout, stderr, env, mask: (text) => redact(text, [...secrets]) });
const source = createMcpSource(
  {
    output,
    env,
    clock: systemClock,
    randomHex: (digits) => randomBytes(digits).toString('hex').slice(0, digits),
    cwd: process.cwd(),
    signal: new AbortController().signal,
    chooseStop: () => undefined,
    engine: defaultEngine,
    keepSecret: (secret) => void secrets.add(secret),
    prompt: undefined,
  },
  globals,
  accounts,
);
serveCalls(
  {
    onQuestion: (listener) => process.on('message', (message) => listener(message as CallQuestion)),
    send: (answer) => process.send?.(answer),
  },
  createAnswerCall({ source, mask: output.mask }),
  () => process.memoryUsage.rss() > mostBytes / 2,
);
