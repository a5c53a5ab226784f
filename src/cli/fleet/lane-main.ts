import { hideSqliteWarning } from '../prepare-process.ts';
import { keepCompiledCode } from '../compile-cache.ts';
import type { LaneArguments } from './lane-arguments.ts';
import { serveLane } from './serve-lane.ts';

// The program of a lane: `sluice fleet worker` starts it, and tells it what to do.
keepCompiledCode();
hideSqliteWarning(process);
await serveLane(JSON.parse(process.argv[2] ?? '{}') as LaneArguments, process);
