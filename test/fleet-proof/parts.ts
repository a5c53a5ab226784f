import type { ProofPart } from './part.ts';
import { proveClocks } from './parts/clocks.ts';
import { proveDrain } from './parts/drain.ts';
import { proveMoving } from './parts/moving.ts';
import { proveNewKey } from './parts/new-key.ts';
import { proveOutages } from './parts/outages.ts';
import { provePackages } from './parts/packages.ts';
import { proveSharedKey } from './parts/shared-key.ts';
import { proveStorm } from './parts/storm.ts';
import { proveZombies } from './parts/zombies.ts';

/** The proofs by name, in the order they run. */
export const parts: Readonly<Record<string, ProofPart>> = {
  zombies: proveZombies,
  storm: proveStorm,
  outages: proveOutages,
  clocks: proveClocks,
  moving: proveMoving,
  'shared-key': proveSharedKey,
  'new-key': proveNewKey,
  packages: provePackages,
  drain: proveDrain,
};
