// Removes the output of the last build: dist, or the folder that the argument names.
import * as fs from "node:fs"

const [folder = "dist"] = process.argv.slice(2)
fs.rmSync(new URL(`../${folder}`, import.meta.url), { recursive: true, force: true })
