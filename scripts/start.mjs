// `npm start`: starts the service, or prints one line if this version of Node is too old. Plain JavaScript, for any Node.
import { readFileSync } from "node:fs"

const { engines } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
const [, neededMajor, neededMinor] = /(\d+)\.(\d+)/.exec(engines.node).map(Number)
const [major, minor] = process.versions.node.split(".").map(Number)

if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) {
  const { writeClients } = await import("./prepare.mjs")
  await writeClients()
  const console = await import("./console.mjs")
  await console.buildIfMissing()
  await import("../src/main.ts")
} else {
  process.stderr.write(
    `effect-relayer: needs Node ${engines.node} and runs on ${process.version}: run npm ci, which installs a newer one on Linux and Windows, or install one\n`
  )
  process.exitCode = 1
}
