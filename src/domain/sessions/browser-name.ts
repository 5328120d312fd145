// Names browser and system of a User-Agent header in a few words: "Firefox on Windows".

// in this order: most browsers also name the browser that they derive from
const browsers: [RegExp, string][] = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\b(OPR|OPT|Opera)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b((Headless)?Chrome|CriOS|Chromium)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
const systems: [RegExp, string][] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bMacintosh\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
];

/** Browser and system, each if the header names it; for other programs the name at the beginning of the header. */
export function browserAndSystem(userAgent: string | undefined): { browser?: string; system?: string } {
  const find = (names: [RegExp, string][]) => names.find(([pattern]) => pattern.test(userAgent ?? ''))?.[1];
  const browser = find(browsers) ?? /^(?!Mozilla\/)[A-Za-z][\w.-]{0,29}/.exec(userAgent ?? '')?.[0];
  const system = find(systems);
  return { ...(browser !== undefined && { browser }), ...(system !== undefined && { system }) };
}

/** The same as a short text; undefined when the header names neither. */
export function browserName(userAgent: string | undefined): string | undefined {
  const { browser, system } = browserAndSystem(userAgent);
  return browser !== undefined && system !== undefined ? `${browser} on ${system}` : (browser ?? system);
}
