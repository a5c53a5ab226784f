import { keepCompiledCode } from './compile-cache.ts';
import { defaultEngine } from './default-engine.ts';
import type { LaneArguments } from './fleet/lane-arguments.ts';
import { serveLane } from './fleet/serve-lane.ts';
import { redact } from '../text/redact.ts';
import { boundHeap, collectSecrets, hideSqliteWarning } from './prepare-process.ts';

// The program of a lane: `sluice fleet worker` starts it, and tells it what to do.
keepCompiledCode();
hideSqliteWarning(process);
boundHeap();
const secrets = collectSecrets(process.env);
await serveLane(JSON.parse(process.argv[2] ?? '{}') as LaneArguments, {
  env: process.env,
  mask: (text) => redact(text, secrets),
  engine: defaultEngine,
  send: (message) => process.send?.(message),
  onMessage: (listener) => process.on('message', listener),
  onGone: (listener) => process.on('disconnect', listener),
  die: () => process.kill(process.pid, 'SIGKILL'),
});
