import { html, type Markup } from './markup.ts';
import type { Tone } from './stream-state.ts';

/** Shapes that badges refer to: a tone must be told without its colour. */
export const badgeShapes: Markup = html`<svg class="shapes" aria-hidden="true" width="0" height="0">
  <defs>
    <symbol id="i-good" viewBox="0 0 16 16">
      <circle cx="8" cy="8" r="8" />
      <path d="M4.4 8.3l2.5 2.5 4.8-5.2" />
    </symbol>
    <symbol id="i-note" viewBox="0 0 16 16">
      <path class="plate" d="M8 .6l7.8 14.2H.2z" />
      <path d="M8 5.6v4.2M8 12v.6" />
    </symbol>
    <symbol id="i-bad" viewBox="0 0 16 16">
      <rect width="16" height="16" rx="3" />
      <path d="M5 5l6 6M11 5l-6 6" />
    </symbol>
    <symbol id="i-idle" viewBox="0 0 16 16">
      <circle cx="8" cy="8" r="8" />
      <path d="M4.6 8h6.8" />
    </symbol>
  </defs>
</svg>`;

/** A tone's shape, for beside a word that says the same. */
export function drawIcon(tone: Tone): Markup {
  return html`<svg class="icon ${tone}" width="16" height="16" aria-hidden="true">
    <use href="#i-${tone}" />
  </svg>`;
}

/** A word with its tone's shape and colour. */
export function drawBadge(tone: Tone, word: string): Markup {
  return html`<span class="badge ${tone}">${drawIcon(tone)} ${word}</span>`;
}
