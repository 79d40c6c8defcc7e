// Writes results into the marked sections of a document.
import { Effect } from "effect"
import * as fs from "node:fs"

/** `sections`: texts by the name of their section. Fails if the document has no such section. */
export const write = (document: string, sections: Readonly<Record<string, string>>) =>
  Effect.sync(() => {
    let text = fs.readFileSync(document, "utf8")
    for (const [name, content] of Object.entries(sections)) {
      const section = new RegExp(`(<!-- bench: ${name} -->\n).*?(<!-- /bench -->)`, "s")
      if (!section.test(text)) throw new Error(`${document} has no section for ${name}`)
      text = text.replace(section, (_, begin, end) => `${begin}\n${content}\n\n${end}`)
    }
    fs.writeFileSync(document, text)
  })
