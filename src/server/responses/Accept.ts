// Proactive content negotiation (RFC 9110, section 12.5.1).

interface Range {
  readonly type: string
  readonly subtype: string
  readonly parameters: ReadonlyMap<string, string>
  /** From 0, not acceptable, to 1. */
  readonly quality: number
}

const parameterOf = (text: string): readonly [string, string] => {
  const [name = "", value = ""] = text.split("=", 2)
  return [
    name.trim().toLowerCase(),
    value
      .trim()
      .replace(/^"(.*)"$/, "$1")
      .toLowerCase()
  ]
}

const rangeOf = (text: string): Range | undefined => {
  const [name = "", ...rest] = text.split(";")
  const [, type, subtype] = /^\s*([^\s/]+)\/([^\s/]+)\s*$/.exec(name.toLowerCase()) ?? []
  if (type === undefined || subtype === undefined) return undefined
  const parameters = new Map(rest.map(parameterOf))
  const quality = Number(parameters.get("q") ?? "1")
  parameters.delete("q")
  return { type, subtype, parameters, quality: quality >= 0 && quality <= 1 ? quality : 0 }
}

/** How specifically `range` names `offered`. `undefined`: it does not match. */
const specificity = (range: Range, offered: Range): number | undefined => {
  if (range.type === "*") return range.subtype === "*" ? 0 : undefined
  if (range.type !== offered.type) return undefined
  if (range.subtype === "*") return 1
  if (range.subtype !== offered.subtype) return undefined
  let common = 0
  for (const [name, value] of range.parameters) {
    const own = offered.parameters.get(name)
    if (own === undefined) continue
    if (own !== value) return undefined
    common += 1
  }
  return 2 + common
}

/** The quality that the most specific range gives to `offered`. A type that no range matches has none. */
const qualityOf = (ranges: ReadonlyArray<Range>, offered: Range): number => {
  let best = { specificity: -1, quality: 0 }
  for (const range of ranges) {
    const found = specificity(range, offered)
    if (found !== undefined && found > best.specificity) best = { specificity: found, quality: range.quality }
  }
  return best.quality
}

/**
 * The type that a client prefers, of types that the service offers in its own order of preference. The first one is the
 * response to a client that accepts everything, nothing of it, or does not say.
 */
export const preferred = <Type extends string>(
  accept: string | undefined,
  offered: readonly [Type, ...Array<Type>]
): Type => {
  const ranges = (accept ?? "").split(",").flatMap((text) => rangeOf(text) ?? [])
  let best: { readonly type: Type; readonly quality: number } = { type: offered[0], quality: 0 }
  for (const type of offered) {
    const parsed = rangeOf(type)
    const quality = parsed === undefined ? 0 : qualityOf(ranges, parsed)
    if (quality > best.quality) best = { type, quality }
  }
  return best.type
}
