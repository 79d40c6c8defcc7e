// Writes the document of an import or an export as YAML, with remarks as comments, and the file of secrets.
import { Document, isMap, isNode } from "yaml"
import type { Node } from "yaml"
import type * as Imported from "./Imported.ts"

/** Longest line of a comment, in characters. */
const maxCommentLength = 200

/** One line: what could end a comment, or move the cursor of a terminal, becomes a space. */
const comment = (text: string): string =>
  ` ${text.replace(/[\p{C}\u0085\u2028\u2029]/gu, " ").slice(0, maxCommentLength)}`

const schemaLine = " yaml-language-server: $schema=./node_modules/effect-relayer/relayers.schema.json"

/** Beside a scalar, and above the first member of a map. */
const setComment = (node: Node, text: string) => {
  if (isMap(node)) node.commentBefore = comment(text)
  else node.comment = comment(text)
}

/** Digits of large amounts stay as they are. Scalars are quoted by the library where that is needed. */
export const yaml = (document: object, remarks: ReadonlyArray<Imported.Remark>, head?: string): string => {
  const written = new Document(document, { aliasDuplicateObjects: false })
  for (const { target, text } of remarks) {
    const node: unknown = written.getIn(target, true)
    if (isNode(node)) setComment(node, text)
  }
  written.commentBefore = [schemaLine, ...(head === undefined ? [] : [comment(head)])].join("\n")
  return written.toString({ lineWidth: 0 })
}

/** A line per variable, quoted so that `.env` readers and shells read the exact value. */
export const secretsFile = (moved: ReadonlyMap<string, string>): string =>
  [...moved].map(([name, value]) => `${name}=${quoted(value)}\n`).join("")

const quoted = (value: string): string => {
  if (!/['\n\r]/.test(value)) return `'${value}'`
  return value.includes('"') || /[\\$`]/.test(value) ? `\`${value}\`` : `"${value.replaceAll("\n", "\\n")}"`
}
