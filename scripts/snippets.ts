// Writes the TypeScript of README.md and docs/*.md into `.snippets/`, where `npm run check` compiles it.
import * as fs from "node:fs"
import * as path from "node:path"

const root = path.resolve(import.meta.dirname, "..")
const folder = path.join(root, ".snippets")

const documents = ["README.md", ...fs.globSync("docs/*.md", { cwd: root })]

const snippets = new Map<string, string>(
  documents.flatMap((document) =>
    [...fs.readFileSync(path.join(root, document), "utf8").matchAll(/^```ts\n([^]*?)^```$/gm)].map(
      ([, code = ""], index) => [`${path.basename(document, ".md")}-${index + 1}.ts`, code] as const
    )
  )
)

fs.mkdirSync(folder, { recursive: true })
for (const file of fs.readdirSync(folder)) if (!snippets.has(file)) fs.rmSync(path.join(folder, file))
for (const [file, code] of snippets) {
  const target = path.join(folder, file)
  // The compiler remembers files that did not change.
  if (!fs.existsSync(target) || fs.readFileSync(target, "utf8") !== code) fs.writeFileSync(target, code)
}
