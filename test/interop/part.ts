import type { Simulator } from '../../src/simulator/simulator.ts';

/** What every proof with other people's programs gets. */
export interface Interop {
  /** A folder of its own, empty at first, that is removed afterwards. */
  readonly folder: string;
  /** The API, with a quota that does not end. */
  readonly simulator: Simulator;
  readonly baseUrl: string;
  /** The environment for child processes; it has the key and the address of the API. */
  readonly env: NodeJS.ProcessEnv;
  readonly say: (text: string) => void;
}

/** One of the proofs; it throws where something is not as it should be. */
export type InteropPart = (interop: Interop) => Promise<void>;
