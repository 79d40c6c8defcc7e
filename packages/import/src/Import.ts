// An import from texts to texts: reads the input of another service, and returns what to write and what to report.
import { Result } from "effect"
import { yaml } from "../../../src/cli/configuration/Export.ts"
import { beside } from "../../../src/cli/configuration/SchemaLine.ts"
import { parse } from "../../../src/cli/configuration/Parse.ts"
import { jsonProblem, problemText } from "../../../src/cli/configuration/Tree.ts"
import { isMembers } from "../../../src/domain/configuration/Document.ts"
import * as Imported from "./Imported.ts"
import type { Options as OpenZeppelinOptions } from "./openzeppelin/Input.ts"
import * as OpenZeppelin from "./openzeppelin/OpenZeppelin.ts"
import type { Options as RRelayerOptions } from "./rrelayer/Input.ts"
import * as RRelayer from "./rrelayer/RRelayer.ts"
import { fields, makeReport, plain } from "./Source.ts"
import type { Entry } from "./Source.ts"

export interface Outcome {
  readonly document: Imported.Document
  /** Whether the document has no object. */
  readonly isEmpty: boolean
  readonly yaml: string
  /** Values that were moved out of the input, by the names of their variables. */
  readonly moved: ReadonlyMap<string, string>
  /** Variables that the document reads. */
  readonly needed: ReadonlySet<string>
  /** Files that the document reads, relative to its own. */
  readonly files: ReadonlyArray<string>
  /** Hosts that OUTBOUND_ALLOW of the service has to name. */
  readonly hosts: ReadonlyArray<string>
  readonly entries: ReadonlyArray<Entry>
}

export interface File {
  readonly name: string
  readonly text: string
}

interface Written {
  /** Whether what is invalid is left out. Absent: nothing is written because of it. */
  readonly skipInvalid?: boolean
  /** Where the written file finds its schema, relative to its folder. Absent: beside it. */
  readonly schema?: string
}

/** The value of a file, or its problems. Nothing of the file is quoted. */
const valueOf = ({ name, text }: File, change?: (text: string) => string): Result.Result<unknown, string> =>
  Result.match(parse(name, text), {
    onSuccess: (tree) =>
      tree.type === "scalar" ? Result.fail(`${name}: is not a configuration`) : Result.succeed(plain(tree, change)),
    onFailure: (problems) => Result.fail(problems.map(problemText).join("; "))
  })

/** JSON is stricter than YAML, which contains it. */
const checkJson = ({ name, text }: File): Result.Result<void, string> => {
  const problem = jsonProblem(name, text)
  return problem === undefined ? Result.succeed(undefined) : Result.fail(problemText(problem))
}

const membersOf = (file: File, change?: (text: string) => string) =>
  Result.flatMap(valueOf(file, change), (value) =>
    isMembers(value) ? Result.succeed(value) : Result.fail(`${file.name}: is not a configuration`)
  )

const unwritable =
  "has all kinds of quotes, or returns before line breaks, which a file of variables cannot have: set this variable to the value of the input"

const outcomeOf = (
  { document, remarks, report, secrets }: Imported.Context,
  schema = beside,
  head?: string
): Outcome => {
  const written = Imported.toPlain(document)
  // What belongs to objects that were left out is neither needed nor written.
  const needed = new Set(Imported.readVariables(written))
  const used = [...secrets.moved].filter(([name]) => needed.has(name))
  const moved = new Map(used.filter(([, value]) => Imported.isWritable(value)))
  for (const [name] of used) if (!moved.has(name)) report.add(name, "needs", unwritable)
  return {
    document,
    isEmpty: Imported.isEmpty(document),
    yaml: yaml(written, remarks, { head, schema }),
    moved,
    needed,
    files: Imported.referencedFiles(written),
    hosts: Imported.hostsToAllow(document, secrets.moved),
    entries: report.entries
  }
}

const contextOf = (name: string, secrets: Imported.Secrets, { skipInvalid }: Written): Imported.Context => ({
  taken: new Set(),
  document: Imported.empty(name),
  report: makeReport(skipInvalid),
  secrets,
  paused: [],
  remarks: []
})

/** Reports the variables of texts, which the old service would not replace. */
const noteTemplates = ({ document, report, secrets }: Imported.Context, references: ReadonlySet<string>) => {
  const names = [...new Set(Imported.readVariables(Imported.toPlain(document)))]
  const shown = names.filter((name) => !references.has(name) && !secrets.moved.has(name)).toSorted()
  if (shown.length === 0) return
  const message = `${shown.map((name) => `\${${name}}`).join(", ")}: the file is a template; these stay variables, which plan and apply read`
  report.add("variables", "note", message)
}

/** `live`: the answer of the running service about its relayers. */
export const openZeppelin = (
  file: File,
  name: string,
  options: OpenZeppelinOptions & Written,
  live?: File
): Result.Result<Outcome, string> =>
  Result.flatMap(
    Result.flatMap(checkJson(file), () => membersOf(file, Imported.escaped)),
    (value) =>
      Result.map(live === undefined ? Result.succeed(undefined) : valueOf(live, Imported.escaped), (running) => {
        const references = new Set(OpenZeppelin.variablesOf(value))
        const named = new Set([...references, ...Imported.variablesIn(value)])
        const taken = new Set([...named, ...Object.keys(options.dotEnv ?? {})])
        const secrets = Imported.makeSecrets({ original: Imported.unescaped, taken })
        const context = contextOf(Imported.idOf(name, "config"), secrets, options)
        const items = isMembers(running) && Array.isArray(running["items"]) ? running["items"] : undefined
        OpenZeppelin.importConfiguration(fields(value, "", context.report), context, { ...options, named }, items)
        noteTemplates(context, references)
        return outcomeOf(context, options.schema)
      })
  )

export const rrelayer = (
  file: File,
  list: File,
  name: string | undefined,
  options: RRelayerOptions & Written
): Result.Result<Outcome, string> =>
  Result.flatMap(membersOf(file), (members) =>
    Result.map(valueOf(list), (listed) => {
      const secrets = Imported.makeSecrets({ taken: new Set(Imported.variablesIn(members)) })
      const context = contextOf(Imported.idOf(name ?? String(members["name"] ?? ""), "rrelayer"), secrets, options)
      RRelayer.importConfiguration(fields(members, "", context.report), listed, context, options)
      const description = members["description"]
      return outcomeOf(context, options.schema, typeof description === "string" ? description : undefined)
    })
  )
