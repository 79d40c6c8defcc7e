// Fails where the lock file could install something else than it says, where a licence of what users get does not fit
// Apache-2.0, and where an advisory, high or critical, is about what users get. Says so where nobody tells of advisories.
import * as Lock from "./Lock.ts"

const fitting = new Set(["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "Unlicense"])

interface Vulnerability {
  readonly name: string
  readonly severity: string
  readonly nodes: ReadonlyArray<string>
}

const wrong: Array<string> = []
const say = (line: string) => process.stdout.write(`${line}\n`)

let unpinned = 0
for (const [place, { integrity, license, link, optional, resolved }] of Lock.packages) {
  if (place === "") continue
  const isProduction = Lock.production.has(place)
  // A package of this repository.
  if (link === true && resolved !== undefined && Lock.packages.has(resolved)) continue
  if (place.startsWith("packages/")) continue
  if (resolved !== undefined || link === true) wrong.push(`${place}: is from an address of its own`)
  if (integrity === undefined && (isProduction || optional !== true)) wrong.push(`${place}: has no integrity`)
  if (integrity === undefined && !isProduction) unpinned++
  if (isProduction && !fitting.has(license ?? "")) wrong.push(`${place}: its licence is ${license ?? "not told"}`)
}
say(`${Lock.production.size} packages for users, ${Lock.packages.size - 1} in all`)
if (unpinned > 0) {
  say(
    `${unpinned} binaries of development tools for other platforms have no integrity: npm records it where it installs them`
  )
}

const { vulnerabilities } = Lock.npm("audit", "--json", "--fetch-retries=0", "--fetch-timeout=20000") as {
  readonly vulnerabilities?: Readonly<Record<string, Vulnerability>>
}
if (vulnerabilities === undefined) {
  say("advisories: NOT looked at, the registry gives none here")
} else {
  const all = Object.values(vulnerabilities)
  const ours = all.filter(({ nodes }) => nodes.some((place) => Lock.production.has(place)))
  say(`advisories: about ${all.length} packages, ${ours.length} of them for users`)
  for (const { name, severity } of ours) {
    if (severity === "high" || severity === "critical") wrong.push(`${name}: has an advisory, ${severity}`)
    else say(`${name}: has an advisory, ${severity}`)
  }
}

for (const line of wrong) process.stderr.write(`${line}\n`)
if (wrong.length > 0) process.exitCode = 1
