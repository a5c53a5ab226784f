import type { AttemptFacts, RunFacts } from '../model/report-data.ts';
import { formatCount } from '../text/format-count.ts';
import { html, Markup } from './markup.ts';

/** Runs that a strip has room for. */
export const STRIP_RUNS = 30;
const CELL = 5;
const HEIGHT = 18;

interface CellKind {
  /** Colour by its tone; the shape says the same. */
  readonly tone: 'good' | 'note' | 'bad' | 'idle';
  readonly label: string;
  readonly draw: (x: number) => string;
}

const column = (share: number) => (x: number) => {
  const height = Math.round(HEIGHT * share);
  return `M${x} ${HEIGHT - height}h4v${height}h-4z`;
};
const hollow = (x: number) => `M${x} 0h4v${HEIGHT}h-4zM${x + 1.2} 1.2v${HEIGHT - 2.4}h1.6v-${HEIGHT - 2.4}z`;

/** From the best to the worst: the fuller the cell, the better. */
const kinds: Readonly<Record<string, CellKind>> = {
  verified: { tone: 'good', label: 'verified', draw: column(1) },
  unverified: { tone: 'note', label: 'unverified', draw: column(0.7) },
  drifted: { tone: 'note', label: 'drifted', draw: column(0.5) },
  stopped: { tone: 'note', label: 'stopped', draw: column(0.3) },
  failed: { tone: 'bad', label: 'failed or partial', draw: hollow },
  fresh: { tone: 'idle', label: 'still fresh, not asked', draw: column(0.12) },
};

/** What became of a stream in the last runs, oldest first: one cell a run. */
export function drawRunStrip(attempts: readonly AttemptFacts[], runs: readonly RunFacts[]): Markup {
  const shown = runs.slice(-STRIP_RUNS);
  const byRun = new Map(attempts.map((attempt) => [attempt.runId, attempt]));
  const cells = shown.map(({ runId }) => kindOf(byRun.get(runId)));
  const width = STRIP_RUNS * CELL;
  // The newest run ends the strip, however few there are.
  const first = STRIP_RUNS - shown.length;
  const paths = Object.entries(kinds).flatMap(([kind, { tone, draw }]) => {
    const path = cells.flatMap((cell, at) => (cell === kind ? [draw((first + at) * CELL)] : [])).join('');
    return path === '' ? [] : [html`<path class="${tone}" fill-rule="evenodd" d="${new Markup(path)}" />`];
  });
  return html`<svg
    class="strip"
    width="${width}"
    height="${HEIGHT}"
    viewBox="0 0 ${width} ${HEIGHT}"
    role="img"
    aria-label="${describeCells(cells)}"
  >
    <path class="track" d="M0 ${HEIGHT}h${width}" />
    ${paths}
  </svg>`;
}

/** What the shapes of a strip mean, for the kinds that occur. */
export function drawStripLegend(attempts: readonly (readonly AttemptFacts[])[]): Markup | false {
  const used = new Set(attempts.flat().map(kindOf));
  const items = Object.entries(kinds).filter(([kind]) => used.has(kind));
  if (items.length === 0) return false;
  return html`<ul class="legend">
    ${items.map(
      ([, { tone, label, draw }]) =>
        html`<li>
          <svg class="strip" width="4" height="${HEIGHT}" aria-hidden="true">
            <path class="${tone}" fill-rule="evenodd" d="${new Markup(draw(0))}" /></svg
          >${label}
        </li>`,
    )}
  </ul>`;
}

function kindOf(attempt: AttemptFacts | undefined): string | undefined {
  if (attempt === undefined) return undefined;
  if (attempt.status === 'complete') {
    const verdict = attempt.verdict ?? 'unverified';
    return verdict === 'partial' ? 'failed' : verdict;
  }
  return attempt.status;
}

function describeCells(cells: readonly (string | undefined)[]): string {
  const told = Object.entries(kinds).flatMap(([kind, { label }]) => {
    const count = cells.filter((cell) => cell === kind).length;
    return count === 0 ? [] : [`${formatCount(count)} ${label}`];
  });
  const last = cells.at(-1);
  const newest = last === undefined ? undefined : kinds[last]?.label;
  if (told.length === 0) return 'Not asked in the last runs.';
  return `Last ${cells.length} runs: ${told.join(', ')}.${newest === undefined ? '' : ` The newest: ${newest}.`}`;
}
