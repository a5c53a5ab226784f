import type { DiscoveredStream } from '../model/discover-report.ts';
import type { Stream } from '../model/stream.ts';

/** A stream's findings beside its config. */
export interface Found {
  readonly stream: Stream;
  readonly found: DiscoveredStream;
  /** Whether the contract file says what was found. */
  readonly hasContract: boolean;
}

/** Lines for sluice.yaml that say what config does not say yet; undefined when there are none. */
export function suggestConfig(streams: readonly Found[]): string | undefined {
  const blocks = streams.flatMap((one) => {
    const lines = suggestLines(one);
    return lines.length === 0 ? [] : [`  ${one.stream.name}:`, ...lines.map((line) => `    ${line}`)];
  });
  return blocks.length === 0 ? undefined : ['streams:', ...blocks].join('\n');
}

function suggestLines({ stream, found, hasContract }: Found): readonly string[] {
  const key = found.keys.find(({ holds }) => holds);
  const start = found.params.find(({ verdict, field }) => verdict === 'honoured' && field !== undefined);
  const isLoose = stream.contract.columns === 'evolve' && stream.contract.types === 'evolve';
  return [
    ...(stream.key.kind === 'auto' && key !== undefined
      ? [`key: [${key.fields.map(quote).join(', ')}]`]
      : []),
    ...(stream.cursor.kind === 'auto' && start?.field !== undefined
      ? [`cursor: { field: ${quote(start.field)}, param: ${quote(start.param)} }`]
      : []),
    ...(hasContract && isLoose ? ['contract: freeze'] : []),
  ];
}

// Anything but a plain word could mean something else in YAML.
function quote(text: string): string {
  return /^[A-Za-z_][\w.]*$/.test(text) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(text)
    ? text
    : JSON.stringify(text);
}
