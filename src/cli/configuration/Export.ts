// Turns an exported document into a file: YAML with comments, and references to variables in the places of stored values.
import { isMasked } from "../../domain/chain/Rpc.ts"
import { isMembers } from "../../domain/configuration/Document.ts"
import { yaml } from "../import/Output.ts"
import { schemaFor } from "./SchemaLine.ts"

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
