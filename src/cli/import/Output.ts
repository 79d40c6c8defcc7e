// Writes the document of an import or an export as YAML, with remarks as comments, and the file of secrets.
import { Document, isMap, isNode } from "yaml"
import type { Node } from "yaml"
import type * as Imported from "./Imported.ts"

/** Longest line of a comment, in characters. */
const maxCommentLength = 200

/** One line: what could end a comment, or move the cursor of a terminal, becomes a space. */
const comment = (text: string): string =>
  ` ${text.replace(/[\p{C}\u0085\u2028\u2029]/gu, " ").slice(0, maxCommentLength)}`

/** Beside a scalar, and above the first member of a map. */
const setComment = (node: Node, text: string) => {
  if (isMap(node)) node.commentBefore = comment(text)
  else node.comment = comment(text)
}

/**
 * The first line names the schema, by which editors complete fields and mark wrong ones.
 * Digits of large amounts stay as they are. Scalars are quoted by the library where that is needed.
 */
export const yaml = (
  document: object,
  remarks: ReadonlyArray<Imported.Remark>,
  { head, schema }: { readonly head?: string | undefined; readonly schema: string }
): string => {
  const written = new Document(document, { aliasDuplicateObjects: false })
  for (const { target, text } of remarks) {
    const node: unknown = written.getIn(target, true)
    if (isNode(node)) setComment(node, text)
  }
  const schemaLine = ` yaml-language-server: $schema=${schema}`
  written.commentBefore = [schemaLine, ...(head === undefined ? [] : [comment(head)])].join("\n")
  return written.toString({ lineWidth: 0 })
}

/**
 * The quote around a value in a file of variables, so that `.env` readers read the exact value, and shells too if that is possible. Undefined: there
 * is none, because the value has all of them, or the return of a line break, which readers remove.
 */
const quoteOf = (value: string): string | undefined => {
  const isWithout = (...parts: ReadonlyArray<string>) => parts.every((part) => !value.includes(part))
  if (!isWithout("\r")) return undefined
  if (isWithout("'")) return "'"
  if (isWithout('"', "\\", "$", "`")) return '"'
  if (isWithout("`")) return "`"
  // Between double quotes, readers replace `\n`.
  return isWithout('"', "\\n") ? '"' : undefined
}

/** Whether a file of variables can have the value. */
export const isWritable = (value: string): boolean => quoteOf(value) !== undefined

/** A line per variable. Values that cannot be written are left out. */
export const secretsFile = (moved: ReadonlyMap<string, string>): string =>
  [...moved]
    .map(([name, value]) => {
      const quote = quoteOf(value)
      return quote === undefined ? "" : `${name}=${quote}${value}${quote}\n`
    })
    .join("")
