// The header fields of OTLP requests, as OTEL_EXPORTER_OTLP_HEADERS lists them: `api-key=secret,tenant=relayers`, with values in
// percent-encoding (W3C Baggage).

const decode = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** `undefined` if the text is no such list. White space and empty entries are ignored. */
export const parse = (text: string): Readonly<Record<string, string>> | undefined => {
  const entries = text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
    .map((entry) => /^([\w!#$%&'*+.^`|~-]+)\s*=\s*(.*)$/.exec(entry))
    .map((found) => [found?.[1], decode(found?.[2] ?? "")] as const)
  return entries.every(([name, value]) => name !== undefined && value !== undefined && /^[\x20-\x7e]*$/.test(value))
    ? Object.fromEntries(entries)
    : undefined
}
