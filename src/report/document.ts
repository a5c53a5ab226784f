import { badgeShapes } from './badge.ts';
import { html, Markup } from './markup.ts';
import { styles } from './styles.ts';

// The file asks for nothing: no script, no font, no picture, wherever it is opened.
const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/** What a file shows. */
export interface Page {
  readonly title: string;
  readonly body: Markup;
  /** Styles that only some files need. */
  readonly more?: string;
  /** A browser loads it again after so many seconds. */
  readonly reloadAfter?: number;
}

/** A whole file around what it shows. */
export function drawDocument({ title, body, more = '', reloadAfter }: Page): Markup {
  return html`<html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta http-equiv="Content-Security-Policy" content="${new Markup(POLICY)}" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <meta name="referrer" content="no-referrer" />
      ${reloadAfter !== undefined && html`<meta http-equiv="refresh" content="${reloadAfter}" />`}
      <title>${title} – Sluice</title>
      <link rel="icon" href="data:," />
      <style>
        ${new Markup(styles + more)}
      </style>
    </head>
    <body>
      ${badgeShapes} ${body}
    </body>
  </html> `;
}
