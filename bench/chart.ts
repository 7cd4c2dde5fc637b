// A chart by hand: cost of one unit against the size of the tables, each line against its own
// first point, so that lines of different units can be compared. Readable on light and dark.

export type Line = { readonly name: string; readonly costs_ms: number[] };

const WIDTH = 860;
const HEIGHT = 440;
const PLOT = { left: 64, right: 600, top: 56, bottom: 380 };
const COLOURS = ["#4269d0", "#d9730d", "#2f9e6e", "#c4407a", "#8a63d2", "#8a93a3"];
const LABEL_GAP = 34;

export function drawGrowth(sizes: readonly number[], lines: readonly Line[]): string {
  const relative = lines.map(({ costs_ms }) => costs_ms.map((cost) => cost / (costs_ms[0] ?? 1)));
  const top = Math.max(2, Math.ceil(Math.max(...relative.flat()) * 1.1));
  const x = (i: number) => PLOT.left + ((PLOT.right - PLOT.left) * i) / (sizes.length - 1);
  const y = (value: number) => PLOT.bottom - ((PLOT.bottom - PLOT.top) * value) / top;
  const ends = relative.map((values) => y(values.at(-1) ?? 0));
  const labels = spread(ends);
  const steps = Array.from({ length: top + 1 }, (_, i) => i).filter((i) => i % stepOf(top) === 0);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img"`,
    '  aria-label="Cost of one unit of work against the number of rows, relative to the smallest">',
    "<style>",
    "  svg { font: 13px system-ui, sans-serif; background: #fff; }",
    "  text { fill: #1d2433; } .soft { fill: #5b6475; } .grid { stroke: #dfe3ea; }",
    "  .line { fill: none; stroke-width: 2.5; stroke-linejoin: round; }",
    "  @media (prefers-color-scheme: dark) {",
    "    svg { background: #14181f; } text { fill: #e8ebf0; } .soft { fill: #9aa4b5; }",
    "    .grid { stroke: #303846; }",
    "  }",
    "</style>",
    text(PLOT.left, 24, "Cost of one unit as the tables grow", 'font-weight="600" font-size="15"'),
    text(PLOT.left, 42, "relative to the smallest size; flat is good", 'class="soft"'),
    ...steps.flatMap((value) => [
      `<path class="grid" d="M${PLOT.left} ${at(y(value))}H${PLOT.right}"/>`,
      text(PLOT.left - 10, y(value) + 4, `${value}×`, 'class="soft" text-anchor="end"'),
    ]),
    ...sizes.map((size, i) =>
      text(x(i), PLOT.bottom + 24, shortly(size), 'class="soft" text-anchor="middle"'),
    ),
    text((PLOT.left + PLOT.right) / 2, PLOT.bottom + 46, "rows (log scale)", CENTRED),
    ...lines.flatMap(({ name, costs_ms }, i) => {
      const values = relative[i] ?? [];
      const colour = COLOURS[i % COLOURS.length];
      const points = values.map((value, n) => `${at(x(n))} ${at(y(value))}`);
      const label_y = labels[i] ?? 0;
      return [
        `<path class="line" stroke="${colour}" d="M${points.join("L")}"/>`,
        ...points.map((point) => {
          const [cx, cy] = point.split(" ");
          return `<circle cx="${cx}" cy="${cy}" r="3.5" fill="${colour}"/>`;
        }),
        `<circle cx="${PLOT.right + 22}" cy="${at(label_y - 4)}" r="5" fill="${colour}"/>`,
        text(PLOT.right + 34, label_y, name),
        text(PLOT.right + 34, label_y + 15, costsOf(costs_ms), 'class="soft" font-size="11"'),
      ];
    }),
    "</svg>",
    "",
  ].join("\n");
}

const CENTRED = 'class="soft" text-anchor="middle"';

function costsOf(costs_ms: readonly number[]): string {
  return `${costs_ms.map(inTime).join(" → ")}`;
}

function inTime(ms: number): string {
  const short = (value: number) => value.toLocaleString("en", { maximumSignificantDigits: 2 });
  return ms >= 1 ? `${short(ms)} ms` : `${short(ms * 1_000)} µs`;
}

function shortly(size: number): string {
  return size >= 1_000_000 ? `${size / 1_000_000} M` : `${size / 1_000} k`;
}

/** Labels at the height of their lines, moved apart where they would overlap. */
function spread(heights: readonly number[]): number[] {
  const order = heights.map((_, i) => i).sort((a, b) => (heights[a] ?? 0) - (heights[b] ?? 0));
  const placed: number[] = [];
  const room = PLOT.bottom - LABEL_GAP * heights.length + LABEL_GAP;
  let lowest = PLOT.top;
  for (const [n, i] of order.entries()) {
    const wanted = Math.min(heights[i] ?? 0, room + n * LABEL_GAP);
    placed[i] = Math.max(wanted, lowest);
    lowest = (placed[i] ?? 0) + LABEL_GAP;
  }
  return placed;
}

function stepOf(top: number): number {
  return Math.max(1, Math.ceil(top / 8));
}

function text(x: number, y: number, content: string, attributes = ""): string {
  return `<text x="${at(x)}" y="${at(y)}" ${attributes}>${content}</text>`.replace(" >", ">");
}

function at(value: number): string {
  return String(Math.round(value * 10) / 10);
}
