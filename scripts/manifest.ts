// Packs a package with a package.json that names nothing which only this repository has: scripts, workspaces, development dependencies. `prepack` and
// `postpack` of each package run it in its folder. After a pack that failed, `node scripts/manifest.ts --restore` puts the file back.
import * as fs from "node:fs"

/** What the repository needs, and no program that installs the package. npm would ask its user to approve a script such as `prepare`. */
export const own = ["workspaces", "scripts", "devDependencies", "allowScripts"]

export const published = (manifest: object): object =>
  Object.fromEntries(Object.entries(manifest).filter(([name]) => !own.includes(name)))

const [file, kept] = ["package.json", "package.json.kept"]

if (import.meta.main) {
  if (process.argv.includes("--restore")) fs.renameSync(kept, file)
  else {
    const text = fs.readFileSync(file, "utf8")
    fs.writeFileSync(kept, text)
    fs.writeFileSync(file, `${JSON.stringify(published(JSON.parse(text)), null, 2)}\n`)
  }
}
