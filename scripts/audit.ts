// Checks the lock files. It fails if a package has no integrity or its own address, if the licence of a package that users
// install is not compatible with Apache-2.0, or if such a package has a high or critical advisory. It prints a line if the
// registry serves no advisories.
import * as Lock from "./Lock.ts"

const compatible = new Set(["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "Unlicense"])

interface Vulnerability {
  readonly name: string
  readonly severity: string
  readonly nodes: ReadonlyArray<string>
}

const wrong: Array<string> = []
const say = (line: string) => process.stdout.write(`${line}\n`)

let unpinned = 0

/** `production`: the places of packages that users install. */
const check = (file: string, packages: ReadonlyMap<string, Lock.Locked>, production: ReadonlySet<string>) => {
  for (const [place, { integrity, license, link, optional, resolved }] of packages) {
    if (place === "") continue
    const isProduction = production.has(place)
    // A package of this repository has no integrity.
    if (link === true && resolved !== undefined && packages.has(resolved)) continue
    if (!place.includes("node_modules/")) continue
    const name = `${file}: ${place}`
    if (resolved !== undefined || link === true) wrong.push(`${name}: has a fixed download address, or is a link`)
    if (integrity === undefined && (isProduction || optional !== true)) wrong.push(`${name}: has no integrity`)
    if (integrity === undefined && !isProduction) unpinned++
    if (isProduction && !compatible.has(license ?? "")) wrong.push(`${name}: its licence is ${license ?? "not stated"}`)
  }
}

check("package-lock.json", Lock.packages, Lock.production)
for (const [file, packages] of Lock.tools) check(file, packages, new Set())
say(
  `${Lock.production.size} packages for users, ${Lock.packages.size - 1} in all, and those of ${Lock.tools.size} lock files of tools`
)
if (unpinned > 0) {
  say(
    `${unpinned} binaries of development tools for other platforms have no integrity: npm adds it only when it installs them`
  )
}

const { vulnerabilities } = Lock.npm("audit", "--json", "--fetch-retries=0", "--fetch-timeout=20000") as {
  readonly vulnerabilities?: Readonly<Record<string, Vulnerability>>
}
if (vulnerabilities === undefined) {
  say("advisories: NOT checked, because the registry serves none")
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
