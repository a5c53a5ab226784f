import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** A place in the sources and what of the process's own time was spent in it. */
export interface HotSpot {
  readonly place: string;
  /** 0 to 1, of the time the JavaScript thread was at work. */
  readonly share: number;
}

/** Node options that leave a profile of the JavaScript thread in a folder. */
export function profileInto(folder: string): readonly string[] {
  return ['--cpu-prof', `--cpu-prof-dir=${folder}`];
}

/** Where the profile in a folder says the time went, the most first; waiting is left out. */
export function readHotSpots(folder: string, most: number): readonly HotSpot[] {
  const file = readdirSync(folder).find((name) => name.endsWith('.cpuprofile'));
  if (file === undefined) throw new Error(`no profile in ${folder}`);
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile;
  const places = new Map(nodes.map(({ id, callFrame }) => [id, namePlace(callFrame)]));
  const spent = new Map<string, number>();
  samples.forEach((id, at) => {
    const place = places.get(id) ?? '';
    if (place === '(idle)') return;
    spent.set(place, (spent.get(place) ?? 0) + (timeDeltas[at] ?? 0));
  });
  const total = [...spent.values()].reduce((sum, one) => sum + one, 0);
  return [...spent]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, most)
    .map(([place, time]) => ({ place, share: time / total }));
}

function namePlace({ functionName, url }: CpuProfile['nodes'][number]['callFrame']): string {
  if (url === '') return functionName || '(native)';
  const [, own] = /\/((?:src|state|connectors)\/[^:]*)$/.exec(url) ?? [];
  const file = url.split('node_modules/').at(-1) ?? url;
  return `${functionName || '(anonymous)'} (${file === url && own !== undefined ? own.replace(/js$/, 'ts') : file})`;
}
