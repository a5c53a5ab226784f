/** A query of a panel; `{{label}}` in the legend stands for a label's value. */
export interface Query {
  readonly expr: string;
  readonly legend?: string;
  /** Where a table shows it. */
  readonly column?: string;
}

/** One panel as the dashboard's rows name it; what its kind shares is added by `drawPanel`. */
export interface Panel {
  readonly title: string;
  readonly kind: 'stat' | 'gauge' | 'timeseries' | 'bars' | 'timeline' | 'table';
  readonly queries: readonly Query[];
  /** Of 24 in a row of the page. */
  readonly width: number;
  readonly description?: string;
  /** As Grafana names units: s, short, percentunit, dateTimeFromNow. */
  readonly unit?: string;
  /** Green below the first, then yellow, and red from the second; or the other way round if the first is higher. */
  readonly limits?: readonly [warning: number, critical: number];
  /** Texts and colours in place of numbers. */
  readonly words?: Readonly<Record<string, readonly [text: string, color: string]>>;
  /** What is shown where there is no series. */
  readonly empty?: string;
  readonly stacked?: boolean;
}

const HEIGHTS = { stat: 4, gauge: 4, timeseries: 8, bars: 8, timeline: 8, table: 9 } as const;
const TYPES = { bars: 'timeseries', timeline: 'state-timeline' } as const;
const datasource = { type: 'prometheus', uid: '${datasource}' };

export function heightOf({ kind }: Panel): number {
  return HEIGHTS[kind];
}

/** A panel in the JSON that Grafana imports. */
export function drawPanel(
  panel: Panel,
  place: { readonly id: number; readonly x: number; readonly y: number },
) {
  const { kind, title, description, queries, width, unit = 'short', empty } = panel;
  const isInstant = kind === 'stat' || kind === 'gauge' || kind === 'table';
  return {
    id: place.id,
    type: kind in TYPES ? TYPES[kind as keyof typeof TYPES] : kind,
    title,
    ...(description !== undefined && { description }),
    datasource,
    gridPos: { h: heightOf(panel), w: width, x: place.x, y: place.y },
    targets: queries.map(({ expr, legend = '__auto' }, index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource,
      editorMode: 'code',
      expr,
      legendFormat: legend,
      ...(isInstant ? { instant: true, range: false } : { range: true }),
      ...(kind === 'table' && { format: 'table' }),
    })),
    fieldConfig: {
      defaults: {
        unit,
        ...(empty !== undefined && { noValue: empty }),
        color: { mode: isInstant || kind === 'timeline' ? 'thresholds' : 'palette-classic' },
        thresholds: { mode: 'absolute', steps: drawLimits(panel.limits) },
        mappings: drawWords(panel.words),
        custom: drawCustom(panel),
      },
      overrides: kind === 'table' ? drawColumns(queries) : [],
    },
    options: drawOptions(panel),
    ...(kind === 'table' && { transformations: joinColumns(queries) }),
  };
}

function drawLimits(limits: Panel['limits']) {
  if (limits === undefined) return [{ color: 'green', value: null }];
  const [warning, critical] = limits;
  if (warning < critical)
    return [
      { color: 'green', value: null },
      { color: 'yellow', value: warning },
      { color: 'red', value: critical },
    ];
  return [
    { color: 'red', value: null },
    { color: 'yellow', value: critical },
    { color: 'green', value: warning },
  ];
}

function drawWords(words: Panel['words']) {
  if (words === undefined) return [];
  const options = Object.entries(words).map(
    ([value, [text, color]], index) => [value, { text, color, index }] as const,
  );
  return [{ type: 'value', options: Object.fromEntries(options) }];
}

function drawCustom({ kind, stacked = false }: Panel) {
  if (kind === 'timeseries' || kind === 'bars')
    return {
      drawStyle: kind === 'bars' ? 'bars' : 'line',
      fillOpacity: kind === 'bars' ? 60 : 10,
      lineWidth: 1,
      showPoints: 'never',
      spanNulls: false,
      stacking: { mode: stacked ? 'normal' : 'none', group: 'A' },
    };
  if (kind === 'timeline') return { fillOpacity: 80, lineWidth: 0 };
  return kind === 'table' ? { align: 'auto', cellOptions: { type: 'auto' } } : {};
}

function drawOptions({ kind }: Panel) {
  const reduceOptions = { calcs: ['lastNotNull'], fields: '', values: false };
  if (kind === 'stat')
    return { reduceOptions, colorMode: 'value', graphMode: 'none', textMode: 'auto', justifyMode: 'auto' };
  if (kind === 'gauge') return { reduceOptions, showThresholdLabels: false, showThresholdMarkers: true };
  if (kind === 'table') return { showHeader: true, cellHeight: 'sm' };
  const tooltip = { mode: 'multi', sort: 'desc' };
  const legend = { displayMode: 'list', placement: 'bottom', showLegend: true };
  if (kind === 'timeline') return { tooltip, legend, mergeValues: true, showValue: 'auto', rowHeight: 0.8 };
  return { tooltip, legend: { ...legend, calcs: [] } };
}

/** One row for each stream: the queries of a table are joined by their labels. */
function joinColumns(queries: readonly Query[]) {
  const names = queries.map(
    ({ column = '' }, index) => [`Value #${String.fromCharCode('A'.charCodeAt(0) + index)}`, column] as const,
  );
  return [
    { id: 'merge', options: {} },
    {
      id: 'organize',
      options: {
        excludeByName: { Time: true },
        indexByName: {},
        renameByName: Object.fromEntries(names),
      },
    },
  ];
}

function drawColumns(queries: readonly Query[]) {
  return queries
    .filter(({ column = '' }) => column.endsWith(' ago'))
    .map(({ column }) => ({
      matcher: { id: 'byName', options: column },
      properties: [{ id: 'unit', value: 's' }],
    }));
}
