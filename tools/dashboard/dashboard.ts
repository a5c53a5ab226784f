import { drawPanel, heightOf } from './panel.ts';
import { dashboardRows, type Row } from './rows.ts';

const COLUMNS = 24;
const datasource = { type: 'prometheus', uid: '${datasource}' };

/** The dashboard as JSON that Grafana imports; every panel asks the data source that is chosen in its head. */
export function writeDashboard(): Promise<string> {
  const panels: unknown[] = [];
  let y = 0;
  let id = 1;
  for (const row of dashboardRows) {
    const folded = row.folded === true;
    const drawn = placePanels(row, id + 1, y + 1);
    panels.push({
      id,
      type: 'row',
      title: row.title,
      collapsed: folded,
      gridPos: { h: 1, w: COLUMNS, x: 0, y },
      panels: folded ? drawn.panels : [],
    });
    if (!folded) panels.push(...drawn.panels);
    id += 1 + row.panels.length;
    y = drawn.endY;
  }
  const dashboard = {
    title: 'Sluice',
    uid: 'sluice',
    description: 'Freshness, verdicts, rows, quota and runs of Sluice; a fleet in its last row.',
    tags: ['sluice'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: '1m',
    time: { from: 'now-7d', to: 'now' },
    timezone: 'browser',
    annotations: { list: [] },
    links: [],
    templating: { list: listVariables() },
    panels,
  };
  return Promise.resolve(`${JSON.stringify(dashboard, undefined, 2)}\n`);
}

/** Panels side by side, in lines as high as the highest in them. */
function placePanels(row: Row, firstId: number, firstY: number) {
  let [x, y, height] = [0, firstY, 0];
  const panels = row.panels.map((panel, index) => {
    if (x + panel.width > COLUMNS) {
      y += height;
      [x, height] = [0, 0];
    }
    const drawn = drawPanel(panel, { id: firstId + index, x, y });
    x += panel.width;
    height = Math.max(height, heightOf(panel));
    return drawn;
  });
  return { panels, endY: y + height };
}

function listVariables() {
  const list = (name: string, label: string, series: string) => ({
    name,
    label,
    type: 'query',
    datasource,
    query: { query: `label_values(${series}, ${name})`, refId: 'variable' },
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    // Not the list of all names: without accounts, no series has that label.
    allValue: '.*',
    current: { selected: true, text: ['All'], value: ['$__all'] },
  });
  return [
    { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', refresh: 1 },
    list(
      'account',
      'Account',
      '{__name__=~"sluice_last_run_exit_code|sluice_fleet_account_clean_age_seconds"}',
    ),
    list('stream', 'Stream', 'sluice_stream_verdict'),
  ];
}
