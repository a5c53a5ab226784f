import type { Origin } from '../model/settings.ts';
import type { Scalar } from './interpolate.ts';

/** One effective setting, as `config show` prints it; secrets are `***`. */
export interface ConfigEntry {
  /** Path of the setting, e.g. `source.quota.burstPerSecond`. */
  readonly key: string;
  readonly value: Scalar;
  readonly origin: Origin;
  /** Which line, variable or file: `sluice.yaml:12`, `ANALYTICS_API_KEY`, `/run/secrets/x`; else empty. */
  readonly detail: string;
}
