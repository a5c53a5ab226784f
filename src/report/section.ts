import { html, type Markup, type Part } from './markup.ts';

/** A part of the file with a heading and a place in its navigation. */
export interface Section {
  readonly id: string;
  readonly heading: string;
  readonly body: Part;
}

/** Draws a section as a landmark, with a heading of this level. */
export function drawSection({ id, heading, body }: Section, level: 2 | 3 = 2): Markup {
  return html`<section id="${id}" aria-labelledby="${id}-h">
    <h${level} id="${id}-h">${heading}</h${level}>
    ${body}
  </section> `;
}

/** Links to sections, for the list of a navigation. */
export function drawLinks(sections: readonly Section[]): readonly Markup[] {
  return sections.map(({ id, heading }) => html`<li><a href="#${id}">${heading}</a></li>`);
}

/** What stands where there is nothing to show. */
export function drawEmpty(text: string): Markup {
  return html`<p class="empty">${text}</p>`;
}

/** A column of a table; on narrow screens its heading stands beside each cell. */
export interface Column<T> {
  readonly head: string;
  readonly isNumber?: boolean;
  readonly cell: (row: T) => Part;
}

/** A table whose rows become cards on narrow screens; its first column names the row. */
export function drawTable<T>(label: string, columns: readonly Column<T>[], rows: readonly T[]): Markup {
  const [first, ...others] = columns;
  return html`<table class="cards">
    <caption>
      ${label}
    </caption>
    <thead>
      <tr>
        ${columns.map(
          ({ head, isNumber }) =>
            html`<th scope="col" ${isNumber === true && html` class="number"`}>${head}</th>`,
        )}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        (row) =>
          html`<tr>
            <th scope="row">${first?.cell(row)}</th>
            ${others.map(
              ({ head, isNumber, cell }) =>
                html`<td data-head="${head}" ${isNumber === true && html` class="number"`}>${cell(row)}</td>`,
            )}
          </tr> `,
      )}
    </tbody>
  </table>`;
}
