// Reads signed authorizations (EIP-7702) from a text that a person pastes or keeps in a file, as wallets and libraries print them.

/** `printed`: as `console.log` of JavaScript prints an object, whose names have no quotes and whose bigints end with n. */
export type AuthorizationTextProblem = "neither" | "printed"

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What `cast wallet sign-auth` prints: hex, with or without quotes. */
const hexText = /^"?(0x[0-9a-fA-F]+)"?,?$/

const isPrinted = (text: string): boolean =>
  /^\s*[[{]/.test(text) && /(^|[\s,{])[A-Za-z_]\w*\s*:|\b\d+n\b|'/m.test(text)

/** An entry per line: JSON, or hex. Undefined: a line is neither. */
const linesOf = (text: string): ReadonlyArray<unknown> | undefined => {
  const entries = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => hexText.exec(line)?.[1] ?? jsonOf(line.replace(/,$/, "")))
  return entries.every((entry) => (typeof entry === "object" && entry !== null) || typeof entry === "string")
    ? entries
    : undefined
}

/** A list, one object, or an entry per line. `AuthorizationShapes.ts` judges the shapes of the entries. */
export const entriesIn = (
  text: string
): { readonly value: ReadonlyArray<unknown> } | { readonly problem: AuthorizationTextProblem } => {
  const whole = jsonOf(text)
  if (Array.isArray(whole)) return { value: whole as ReadonlyArray<unknown> }
  if (typeof whole === "object" && whole !== null) return { value: [whole] }
  const lines = linesOf(text)
  return lines === undefined || lines.length === 0
    ? { problem: isPrinted(text) ? "printed" : "neither" }
    : { value: lines }
}
