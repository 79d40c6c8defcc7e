// Turns an exported document into a file: YAML with comments, and references to variables in the places of stored values.
import { Document, isMap, isNode } from "yaml"
import type { Node } from "yaml"
import { isMasked } from "../../domain/chain/Rpc.ts"
import { isMembers } from "../../domain/configuration/Document.ts"
import { schemaFor } from "./SchemaLine.ts"

/** A comment beside a value of the document. */
export interface Remark {
  readonly target: ReadonlyArray<string>
  readonly text: string
}

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
  remarks: ReadonlyArray<Remark>,
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

export interface File {
  readonly document: object
  /** Variables that the file reads. */
  readonly variables: ReadonlyArray<string>
}

const variableOf = (path: ReadonlyArray<string>): string =>
  `RELAYER_${path.join("_")}`.toUpperCase().replace(/[^A-Z0-9]+/g, "_")

const isStored = (value: unknown): boolean => isMembers(value) && value["stored"] === true

/** For another installation, which has none of the stored values. */
export const withVariables = (document: object): File => {
  const variables: Array<string> = []
  const visit = (value: unknown, path: ReadonlyArray<string>): unknown => {
    if (isStored(value) || (typeof value === "string" && path.at(-1) === "url" && isMasked(value))) {
      const env = variableOf(path)
      variables.push(env)
      return { env }
    }
    if (Array.isArray(value)) return value.map((item, index) => visit(item, [...path, String(index)]))
    if (!isMembers(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, visit(child, [...path, name])]))
  }
  const found = visit(document, [])
  return { document: isMembers(found) ? found : {}, variables }
}

/** What a name such as `networks.evm:base` refers to: ids contain no dots, names of networks may. */
const targetOf = (name: string): ReadonlyArray<string> => {
  const dot = name.indexOf(".")
  return [name.slice(0, dot), name.slice(dot + 1)]
}

export const toYaml = (document: object, remarks: Readonly<Record<string, string>>, baseUrl: string): string => {
  // The file may be written to the working directory. If the package is not there, the service has the schema.
  const schema = schemaFor("relayers.yaml", `${baseUrl}/relayers.schema.json`)
  const objects = Object.entries(remarks).map(([name, text]) => ({ target: targetOf(name), text }))
  const present = new Set(
    Object.entries(document).flatMap(([kind, section]) =>
      isMembers(section) ? Object.keys(section).map((id) => `${kind}.${id}`) : []
    )
  )
  const unsaid = Object.entries(remarks).flatMap(([name, text]) => (present.has(name) ? [] : [`${name} ${text}`]))
  return yaml(
    document,
    objects.filter(({ target }) => present.has(target.join("."))),
    { head: unsaid.length === 0 ? undefined : unsaid.join("; "), schema }
  )
}
