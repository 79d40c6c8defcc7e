// The console as one script, which is kept for the windows of later runs.
import * as fs from "node:fs"
import * as path from "node:path"
import { script } from "../../scripts/console/build.ts"
import * as Bundle from "../process/Bundle.ts"

const root = path.resolve(import.meta.dirname, "../..")

const cache = path.join(root, "node_modules/.cache")

/** Another working tree may use the same packages, by a link. */
const kept = path.join(cache, `effect-relayer-console-${Bundle.tree}.js`)

/** What the script is made of. */
const sources = {
  folders: ["web", "src", "scripts/console", "scripts/client"].map((name) => path.join(root, name)),
  files: [path.join(root, "openapi.json"), ...Bundle.packageFiles]
}

/** Bundles the console if a source has changed, in a second and a half of the processor. */
export const bundled = async (): Promise<string> => {
  if (fs.existsSync(kept) && Bundle.isNewer(kept, sources)) return fs.readFileSync(kept, "utf8")
  if (!Bundle.canWrite(cache)) return script()
  const written = `${kept}-${process.pid}`
  fs.mkdirSync(cache, { recursive: true })
  fs.writeFileSync(written, "")
  // A source may change meanwhile.
  const { mtime } = fs.statSync(written)
  const code = await script()
  fs.writeFileSync(written, code)
  fs.utimesSync(written, mtime, mtime)
  fs.renameSync(written, kept)
  return code
}

/** The global setup of a run of all tests, so that its workers find the script. */
export const setup = async (): Promise<void> => void (await bundled())
