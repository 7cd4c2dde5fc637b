// A bar chart of usage by day of a period. It uses attributes only, as the page's content security
// policy allows no inline styles.

import { addDays, daysBetween } from "../../domain/dates.ts";
import { formatDate, formatUnits } from "../../domain/documents/format.ts";
import { type Html, html } from "../html.ts";

const STEP = 8;
const BAR = 6;
const HEIGHT = 36;
/** The base line under every day, and the least height of a bar. */
const TRACK = 2;

export type Day = { readonly date: string; readonly units: string };

export function usageChart(
  days: readonly Day[],
  period: { readonly start: string; readonly end: string },
): Html {
  const count = Math.max(1, daysBetween(period.start, period.end) + 1);
  const byDate = new Map(days.map((day) => [day.date, Math.max(0, Number(day.units))]));
  const most = Math.max(0, ...byDate.values());
  const bars = Array.from({ length: count }, (_, i) => {
    const units = byDate.get(addDays(period.start, i)) ?? 0;
    const height = most === 0 ? 0 : Math.max(units > 0 ? TRACK : 0, (units / most) * HEIGHT);
    return html`<rect class="track" x="${i * STEP}" y="${HEIGHT - TRACK}" width="${BAR}" height="${
      TRACK
    }"/>${
      height > 0 &&
      html`<rect class="bar" x="${i * STEP}" y="${Math.round(HEIGHT - height)}" width="${
        BAR
      }" height="${Math.round(height)}"/>`
    }`;
  });
  return html`<svg viewBox="0 0 ${count * STEP - (STEP - BAR)} ${
    HEIGHT
  }" preserveAspectRatio="none" role="img" aria-label="${label(days, most)}">${bars}</svg>`;
}

function label(days: readonly Day[], most: number): string {
  const top = days.find(({ units }) => Number(units) === most);
  if (top === undefined || most === 0) return "Nothing used in this period yet.";
  return `Usage by day. The most on one day: ${formatUnits(top.units)} on ${formatDate(top.date)}.`;
}
