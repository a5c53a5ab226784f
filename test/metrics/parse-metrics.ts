/** A family of the text format. */
export interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const NAME = /^[a-z][a-z0-9_]*$/;
const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (-?[\d.]+(?:e[+-]?\d+)?)$/;
const LABEL = /([a-z_]+)="((?:[^"\\]|\\[\\"n])*)"(?:,|$)/y;

/** Reads the text format strictly; throws for a line that breaks it. */
export function parseMetrics(text: string): readonly Family[] {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const families: { name: string; type: string; help: string; samples: Sample[] }[] = [];
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    const last = families.at(-1);
    if (kind === 'HELP') {
      if (families.some((family) => family.name === name)) throw new Error(`${name} comes twice`);
      families.push({ name, type: '', help: rest, samples: [] });
    } else if (kind === 'TYPE') {
      if (last?.name !== name) throw new Error(`a type without help: ${line}`);
      last.type = rest;
    } else {
      const { name: family, ...sample } = readSample(line);
      if (last?.name !== family) throw new Error(`a sample outside its family: ${line}`);
      const isKnown = last.samples.some(
        ({ labels }) => JSON.stringify(labels) === JSON.stringify(sample.labels),
      );
      if (isKnown) throw new Error(`a sample twice: ${line}`);
      last.samples.push(sample);
    }
  }
  return families;
}

function readSample(line: string): Sample & { readonly name: string } {
  const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? [];
  if (name === '') throw new Error(`no sample: ${line}`);
  const found: [string, string][] = [];
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < labels.length) {
    const match = LABEL.exec(labels);
    if (match === null) throw new Error(`no labels: ${line}`);
    found.push([match[1] ?? '', match[2] ?? '']);
  }
  return { name, labels: Object.fromEntries(found), value: Number(value) };
}

/** What breaks the conventions of Prometheus for names, types and units. */
export function lintFamily({ name, type, help }: Family): readonly string[] {
  const isTotal = name.endsWith('_total');
  const units = /_(ms|millis|milliseconds|minutes|hours|days|kb|mb|percent)(_|$)/;
  return [
    !NAME.test(name) && 'a name is lower-case letters, digits and underscores',
    !name.startsWith('sluice_') && 'a name starts with sluice_',
    isTotal !== (type === 'counter') && '_total is for counters, and counters are called so',
    units.test(name) && 'times are in seconds',
    /_timestamp(?!_seconds$)/.test(name) && 'timestamps are in seconds',
    !help.endsWith('.') && 'help is a sentence',
    name.includes(`_${type}`) && 'a name does not say its type',
  ].filter((flaw) => flaw !== false);
}
