// The HTML that every page has around its body, and the text colour for a coloured background.

import { Html, html } from "./html.ts";

/** Where our own icon is. */
export const ICON_PATH = "/favicon.svg";

export type Page = {
  readonly title: string;
  /**
   * The only style sheet; the content security policy allows it by its hash. It is not escaped: the
   * only value in it is a colour, checked where it is set.
   */
  readonly style: string;
  readonly body: Html;
  /** The URL of its icon; by default our own. */
  readonly icon?: string;
  /** The path of a script on our own server. */
  readonly script?: string;
};

export function renderPage({ title, style, body, script, icon = ICON_PATH }: Page): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${icon}" type="image/svg+xml">
<style>${new Html(style)}</style>
${script !== undefined && html`<script src="${script}" defer></script>`}
</head>
<body>
${body}
</body>
</html>
`;
}

/**
 * Black or white, whichever has more contrast on the colour, which is `#rrggbb`. The formula is the
 * relative luminance of WCAG; at 0.179 both have the same contrast.
 */
export function textColorOn(color: string): "#000000" | "#ffffff" {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}
