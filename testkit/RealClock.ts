// Which files of tests use the clock of the machine, and whether they say why.

/** How a test, or a layer of tests, asks for it. */
const asks = /\bit\.live\b|excludeTestServices: true/u

export const usesRealClock = (text: string): boolean => asks.test(text)

/** The comment that a file begins with. */
const headOf = (text: string): string => /^(?:\/\/[^\n]*\n)*/u.exec(text)?.[0] ?? ""

export const saysWhy = (text: string): boolean => headOf(text).includes("clock of the machine")
