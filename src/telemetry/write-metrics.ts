import type { Meter, ObservableResult } from '@opentelemetry/api';
import type { MetricFamily } from '../model/telemetry.ts';

/** Keeps the metrics that are known, for an SDK that asks for them at times of its own. */
export class MetricWriter {
  readonly #meter: Meter;
  readonly #known = new Set<string>();
  #families: ReadonlyMap<string, MetricFamily> = new Map();

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  write(families: readonly MetricFamily[]): void {
    this.#families = new Map(families.map((family) => [family.name, family]));
    for (const family of families) this.#add(family);
  }

  #add({ name, help: description, kind }: MetricFamily): void {
    if (this.#known.has(name)) return;
    this.#known.add(name);
    // Totals are counted in the state folder: what is sent is the whole, as in /metrics.
    const instrument =
      kind === 'counter'
        ? this.#meter.createObservableCounter(name, { description })
        : this.#meter.createObservableGauge(name, { description });
    instrument.addCallback((result) => this.#observe(name, result));
  }

  #observe(name: string, result: ObservableResult): void {
    for (const { value, labels } of this.#families.get(name)?.samples ?? []) result.observe(value, labels);
  }
}
