// The licences of the packages that a bundle contains, which have to be passed on with the bundle.
import * as fs from "node:fs"
import * as path from "node:path"

const packages = path.resolve(import.meta.dirname, "../node_modules")

const licenseOf = (folder: string) => {
  const name = fs.readdirSync(folder).find((file) => /^licen[cs]e/i.test(file))
  if (name === undefined) throw new Error(`${folder} has no licence to pass on`)
  return `${path.relative(packages, folder)}\n\n${fs.readFileSync(path.join(folder, name), "utf8").trim()}\n`
}

/** `modules` are the paths of the bundled modules. Those outside `node_modules` are this repository's own. */
export const licensesOf = (modules: ReadonlyArray<string>): string => {
  const folders = new Set(modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id) ?? []))
  return [...folders].toSorted().map(licenseOf).join("\n---\n\n")
}
