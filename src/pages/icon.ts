// The icon of a page: on pages of a project its initial in its own colour, else that of dues.

import { escapeText } from "./html.ts";
import { textColorOn } from "./page.ts";

export function initialOf(name: string): string {
  const [first = "•"] = name.trim();
  return first.toUpperCase();
}

/** A data URL, so that a page has no other file. `color` is six hex digits. */
export function letterIcon(name: string, color: string): string {
  const letter = escapeText(initialOf(name));
  const text = `x="16" y="22.5" text-anchor="middle" font-size="19" font-weight="700"`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="9" fill="${color}"/><text ${text} font-family="system-ui,sans-serif" fill="${textColorOn(color)}">${letter}</text></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

/** Our own: a d on a rounded square. */
export const ICON_SVG = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="9" fill="#3347c4"/><circle cx="14.4" cy="18.6" r="4.8" fill="none" stroke="#fff" stroke-width="3.6"/><rect x="17.4" y="6.5" width="3.6" height="18.7" fill="#fff"/></svg>`;

/** The icon in 32 × 32 pixels, for who asks for /favicon.ico. */
export const ICON_ICO = Buffer.from(
  [
    "AAABAAEAICAAAAEAIACwAQAAFgAAAIlQTkcNChoKAAAADUlIRFIAAAAgAAAAIAgGAAAAc3p69AAAAXdJREFUeNpj",
    "MHY/woAF+wDxYiC+DcT/KcS3oWb5YLMLXUAHiI9TwVJc+DjUDqwOsAHizzS0HIY/Q+1CcYAOnSxHdoQOsgOO09Fy",
    "5OhggCW4/wOEfRigKZQig4obrv2fufgRHJOgdzEDNbLapl0v/yMDUrIoAzWCkgIH/B91wNByACi1Hzv97v+nL7/B",
    "Fr159/P/tr2v/l+6/om2DrANOA62mFhAVQeYeR39f+bih/+kAKo6oHPqXQwLTp57D473O/e/0t4Bj55+hxv858+/",
    "/2XN11HkQSUfzRzgFnEKxWBQgsOmDj0kqOaAhPyLKAY399+mbzb0iTuNYvDiNU+wqgOlCZqlgfcff8ENBuX/4JSz",
    "KPKgNEHTRIieyECOAIUEKDpAaQKUMGnqAFAhhJwT6F4OgDAo2ElxBKkOuE1scQyKDuQ0AQIgh91/9I2iBgnJTTJQ",
    "7gBlUVA5AQuhtNLLcExqk2zAG6UD3iwfFB2TAe+aDYrO6YB0zwH3J65aV4Bm/gAAAABJRU5ErkJggg==",
  ].join(""),
  "base64",
);
