import { cutText, html, type Markup, nameText } from './markup.ts';

const MOST_TITLE = 80;

/** Height of a chart's plot, px, and the room below it for the labels of the horizontal axis. */
export const PLOT = { height: 150, small: 64, below: 22, above: 10 } as const;

/** A label of the vertical axis; `at` is px from the top of the plot. */
export interface RowTick {
  readonly at: number;
  readonly label: string;
}

/** A label of the horizontal axis; `at` is a percentage. Minor ones give way on narrow screens. */
export interface ColumnTick {
  readonly at: number;
  readonly label: string;
  readonly anchor: 'start' | 'middle' | 'end';
  readonly isMinor: boolean;
}

/** The numbers behind a chart, for those who cannot see it or want to copy them. */
export interface NumberTable {
  readonly head: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

export interface ChartParts {
  /** Unique in the file; never made of a name. */
  readonly id: string;
  readonly title: string;
  /** What the vertical axis counts, and whatever else has to be known to read it. */
  readonly unit: string;
  /** One or two sentences with what the chart shows, for those who do not see it. */
  readonly description: string;
  readonly legend: readonly LegendItem[];
  /** What `FLAG` means, where one stands in the chart. */
  readonly flagged?: string | undefined;
  readonly plotHeight: number;
  readonly rowTicks: readonly RowTick[];
  readonly columnTicks: readonly ColumnTick[];
  readonly marks: Markup;
  /** Undefined leaves them out. */
  readonly numbers: NumberTable | undefined;
}

/** What the charts of one page have in common. */
export interface ChartSet {
  /** Begins the ids of its charts, so that they differ from those of another page in the same file. */
  readonly prefix: string;
  /** Whether each has its numbers as a table, which takes as much room as the chart. */
  readonly hasNumbers: boolean;
}

/** The charts of a file with one page. */
export const onlyCharts: ChartSet = { prefix: '', hasNumbers: true };

export interface LegendItem {
  /** Class of the marks it explains. */
  readonly mark: string;
  readonly label: string;
}

/** What stands above a bar of a run that did not end well. */
export const FLAG = '✕';

/**
 * A chart as a figure. Its marks have percentages for their places, so that it fills any width while its texts
 * keep their size; the labels of the vertical axis stand in a column of their own.
 */
export function drawChart(parts: ChartParts): Markup {
  const { id, plotHeight } = parts;
  const height = PLOT.above + plotHeight + PLOT.below;
  return html`<figure class="chart">
    <figcaption>
      <span class="chart-title">${nameText(parts.title)}</span> <span class="unit">${parts.unit}</span>
    </figcaption>
    ${drawLegend(parts.legend, parts.flagged)}
    <div class="plot">
      <svg class="rows" width="44" height="${height}" aria-hidden="true">
        ${parts.rowTicks.map(drawRowLabel)}
      </svg>
      <svg class="marks" width="100%" height="${height}" role="img" aria-labelledby="${id}-t ${id}-d">
        <title id="${id}-t">${cutText(parts.title, MOST_TITLE)}</title>
        <desc id="${id}-d">${parts.description}</desc>
        ${parts.rowTicks.map(drawGridLine)}${parts.marks}${parts.columnTicks.map((tick) => drawColumnLabel(tick, height))}
      </svg>
    </div>
    ${parts.numbers && drawNumbers(parts.numbers)}
  </figure>`;
}

function drawLegend(items: readonly LegendItem[], flagged: string | undefined): Markup | false {
  // One colour is told by the unit beside the title.
  const told = items.length < 2 ? [] : items;
  if (told.length === 0 && flagged === undefined) return false;
  return html`<ul class="legend">
    ${told.map(
      ({ mark, label }) =>
        html`<li>
          <svg width="10" height="10" aria-hidden="true">
            <rect class="${mark}" width="10" height="10" rx="2" /></svg
          >${label}
        </li>`,
    )}${flagged !== undefined && html`<li><span class="bad-mark" aria-hidden="true">${FLAG}</span>${flagged}</li>`}
  </ul>`;
}

function drawRowLabel({ at, label }: RowTick): Markup {
  return html`<text x="38" y="${round(PLOT.above + at)}" dy=".32em" text-anchor="end">${label}</text>`;
}

function drawGridLine({ at }: RowTick): Markup {
  const y = round(PLOT.above + at);
  return html`<line class="grid" x1="0" x2="100%" y1="${y}" y2="${y}" />`;
}

function drawColumnLabel({ at, label, anchor, isMinor }: ColumnTick, height: number): Markup {
  return html`<text${isMinor && html` class="minor"`} x="${round(at)}%" y="${height - 5}" text-anchor="${anchor}">${label}</text>`;
}

/** The numbers as a table that opens on demand. */
function drawNumbers({ head, rows }: NumberTable): Markup {
  const [first = '', ...others] = head;
  return html`<details class="numbers">
    <summary>Numbers</summary>
    <div class="scroll" tabindex="0" role="group" aria-label="Numbers">
      <table>
        <thead>
          <tr>
            <th scope="col">${first}</th>
            ${others.map((name) => html`<th scope="col">${name}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            ([name = '', ...cells]) =>
              html`<tr>
                <th scope="row">${name}</th>
                ${cells.map((cell) => html`<td>${cell}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </details>`;
}

/** A number for a place: two decimals say more than any screen shows. */
export function round(value: number): number {
  return Math.round(value * 100) / 100;
}
