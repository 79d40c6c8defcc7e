// An import from texts to texts: reads the input of another service, and returns what to write and what to report.
import { Result } from "effect"
import { isMembers } from "../../domain/configuration/Wanted.ts"
import { parse } from "../configuration/Parse.ts"
import { problemText } from "../configuration/Tree.ts"
import * as Imported from "./Imported.ts"
import type { Options as OpenZeppelinOptions } from "./openzeppelin/Input.ts"
import * as OpenZeppelin from "./openzeppelin/OpenZeppelin.ts"
import * as Output from "./Output.ts"
import * as Report from "./Report.ts"
import type { Options as RRelayerOptions } from "./rrelayer/Input.ts"
import * as RRelayer from "./rrelayer/RRelayer.ts"
import * as Secrets from "./Secrets.ts"
import { fields, plain } from "./Source.ts"

export interface Outcome {
  readonly document: Imported.Document
  readonly yaml: string
  /** Values that were moved out of the input, by the names of their variables. */
  readonly moved: ReadonlyMap<string, string>
  /** Variables that the document reads. */
  readonly needed: ReadonlySet<string>
  readonly entries: ReadonlyArray<Report.Entry>
}

export interface File {
  readonly name: string
  readonly text: string
}

/** The value of a file, or its first problem. Nothing of the file is quoted. */
const valueOf = ({ name, text }: File, change?: (text: string) => string): Result.Result<unknown, string> =>
  Result.match(parse(name, text), {
    onSuccess: (tree) => Result.succeed(plain(tree, change)),
    onFailure: (problems) => Result.fail(problems.map(problemText).join("; "))
  })

const unwritable =
  "has all kinds of quotes, or returns before line breaks, which a file of variables cannot have: set this variable to the value of the input"

const outcomeOf = ({ document, remarks, report, secrets }: Imported.Context, head?: string): Outcome => {
  const moved = new Map([...secrets.moved].filter(([, value]) => Output.isWritable(value)))
  for (const name of secrets.moved.keys()) if (!moved.has(name)) report.add(name, "needs", unwritable)
  return {
    document,
    yaml: Output.yaml(Imported.toPlain(document), remarks, { head }),
    moved,
    needed: secrets.needed,
    entries: report.entries
  }
}

const contextOf = (name: string, secrets: Secrets.Secrets): Imported.Context => ({
  document: Imported.empty(name),
  report: Report.make(),
  secrets,
  remarks: []
})

/** `live`: the answer of the running service about its relayers. */
export const openZeppelin = (
  file: File,
  name: string,
  options: OpenZeppelinOptions,
  live?: File
): Result.Result<Outcome, string> =>
  Result.flatMap(valueOf(file, Secrets.escaped), (value) =>
    Result.map(live === undefined ? Result.succeed(undefined) : valueOf(live, Secrets.escaped), (running) => {
      const taken = new Set([...OpenZeppelin.variablesOf(value), ...Object.keys(options.dotEnv ?? {})])
      const secrets = Secrets.make({ original: Secrets.unescaped, taken })
      const context = contextOf(Imported.idOf(name, "config"), secrets)
      const items = isMembers(running) && Array.isArray(running["items"]) ? running["items"] : undefined
      OpenZeppelin.importConfiguration(fields(value, "", context.report), context, options, items)
      return outcomeOf(context)
    })
  )

export const rrelayer = (
  file: File,
  list: File,
  name: string | undefined,
  options: RRelayerOptions
): Result.Result<Outcome, string> =>
  Result.flatMap(valueOf(file), (value) =>
    Result.map(valueOf(list), (listed) => {
      const members = isMembers(value) ? value : {}
      const secrets = Secrets.make({ taken: new Set(Imported.variablesIn(value)) })
      const context = contextOf(Imported.idOf(name ?? String(members["name"] ?? ""), "rrelayer"), secrets)
      RRelayer.importConfiguration(fields(value, "", context.report), listed, context, options)
      const description = members["description"]
      return outcomeOf(context, typeof description === "string" ? description : undefined)
    })
  )
