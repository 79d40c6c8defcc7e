// Bundles web/ into a folder: files with a hash of their content in the name, compressed copies beside them, and the page that names them.
import * as crypto from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import * as zlib from "node:zlib"
import { rolldown } from "rolldown"
import { undocumented } from "../client/Undocumented.ts"
import { licensesOf } from "../Licenses.ts"
import { formsOf } from "./Forms.ts"
import type { OpenApiDocument } from "./Forms.ts"

const root = path.resolve(import.meta.dirname, "../..")
const web = path.join(root, "web")

/** The forms are data that the build derives from the contract. */
const formsModule = path.join(web, "src/data/Forms.ts")

const openapi = () => JSON.parse(fs.readFileSync(path.join(root, "openapi.json"), "utf8")) as OpenApiDocument

/** Plots need a few rules of their library. */
const stylesheets = [path.join(web, "src/theme.css"), path.join(root, "node_modules/uplot/dist/uPlot.min.css")]

/** Where the service serves the folder. */
const base = "/console/"

const bundled = async (file: string, format: "es" | "iife") => {
  const bundle = await rolldown({
    input: path.join(web, "src", file),
    platform: "browser",
    plugins: [
      {
        name: "forms",
        load: (id) => (id === formsModule ? `export const forms = ${JSON.stringify(formsOf(openapi()))}` : null)
      },
      {
        name: "undocumented",
        transform: (code, id) => (/\/src\/(api|domain|networks)\//.test(id) ? undocumented(code) : null)
      }
    ]
  })
  const { output } = await bundle.generate({
    format,
    minify: true,
    // A script that is no module cannot load others.
    codeSplitting: format === "es",
    entryFileNames: "[name]-[hash].js",
    chunkFileNames: "[name]-[hash].js"
  })
  return output.filter((file) => file.type === "chunk")
}

const hashed = (name: string, text: string) => {
  const hash = crypto.createHash("sha256").update(text).digest("base64url").slice(0, 8)
  return `${path.parse(name).name}-${hash}${path.extname(name)}`
}

/** The page changes with each build, so that it is not compressed ahead and has no hash. */
const page = (names: ReadonlyMap<string, string>) => {
  let html = fs.readFileSync(path.join(web, "index.html"), "utf8")
  for (const [source, name] of names) html = html.replace(`"${source}"`, `"${base}${name}"`)
  return html
}

/** The whole console as one script, for windows that load no modules. */
export const script = async (): Promise<string> => {
  const chunks = await bundled("main.tsx", "iife")
  return chunks.map(({ code }) => code).join("\n")
}

/** Writes what differs, each file whole, and removes the others last: a service that starts meanwhile reads files that exist. */
const replace = (target: string, files: ReadonlyMap<string, string | Buffer>) => {
  fs.mkdirSync(target, { recursive: true })
  for (const [name, content] of files) {
    const file = path.join(target, name)
    const bytes = Buffer.from(content)
    if (fs.existsSync(file) && fs.readFileSync(file).equals(bytes)) continue
    // Outside the folder, whose files a service lists and reads.
    const written = `${target}-${process.pid}`
    fs.writeFileSync(written, bytes)
    fs.renameSync(written, file)
  }
  for (const name of fs.readdirSync(target)) {
    if (!files.has(name)) fs.rmSync(path.join(target, name), { recursive: true })
  }
}

/** Builds the console into the folder. */
export const build = async (target: string) => {
  const chunks = [...(await bundled("main.tsx", "es")), ...(await bundled("theme.ts", "iife"))]
  const entry = (name: string) => chunks.find((chunk) => chunk.isEntry && chunk.name === name)?.fileName ?? name
  const styles = stylesheets.map((file) => fs.readFileSync(file, "utf8")).join("\n")
  const stylesheet = hashed("theme.css", styles)
  const html = page(
    new Map([
      ["theme.css", stylesheet],
      ["theme.js", entry("theme")],
      ["main.js", entry("main")]
    ])
  )

  const texts = [[stylesheet, styles] as const, ...chunks.map((chunk) => [chunk.fileName, chunk.code] as const)]
  replace(
    path.resolve(target),
    new Map<string, string | Buffer>([
      ...texts,
      ...texts.map(([name, text]) => [`${name}.br`, zlib.brotliCompressSync(text)] as const),
      ["LICENSES", licensesOf(chunks.flatMap((chunk) => chunk.moduleIds))],
      // After the files that it names.
      ["index.html", html]
    ])
  )
}
