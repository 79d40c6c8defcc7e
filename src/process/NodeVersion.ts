// The oldest version of Node that runs the command. This file uses nothing that an older one lacks.

/** The first one with everything that the service uses; `engines` of package.json names it. */
export const oldestNode = "22.19"

const numbersOf = (version: string): ReadonlyArray<number> => version.replace(/^v/, "").split(".").map(Number)

/** What a user reads instead of a stack trace. Undefined: the version is new enough. `version`: `process.version`. */
export const refusalOfNode = (version: string): string | undefined => {
  const [major = 0, minor = 0] = numbersOf(version)
  const [neededMajor = 0, neededMinor = 0] = numbersOf(oldestNode)
  return major > neededMajor || (major === neededMajor && minor >= neededMinor)
    ? undefined
    : `effect-relayer: needs Node ${oldestNode} or later, and runs on ${version}: install one from https://nodejs.org`
}
