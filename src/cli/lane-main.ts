import { keepCompiledCode } from './compile-cache.ts';
import { defaultEngine } from './default-engine.ts';
import type { LaneArguments } from './fleet/lane-arguments.ts';
import { serveLane } from './fleet/serve-lane.ts';
import { boundHeap, hideSqliteWarning } from './prepare-process.ts';

// The program of a lane: `sluice fleet worker` starts it, and tells it what to do.
keepCompiledCode();
hideSqliteWarning(process);
boundHeap();
await serveLane(JSON.parse(process.argv[2] ?? '{}') as LaneArguments, {
  env: process.env,
  engine: defaultEngine,
  send: (message) => process.send?.(message),
  onMessage: (listener) => process.on('message', listener),
  onGone: (listener) => process.on('disconnect', listener),
  die: () => process.kill(process.pid, 'SIGKILL'),
});
