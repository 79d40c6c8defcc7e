// `import`: writes the configuration of another service as a configuration file of this one. It calls no service.
import { Console, Effect, Option, Result } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as fs from "node:fs"
import * as path from "node:path"
import { parseEnv } from "node:util"
import { CommandFailed, exitCodes } from "../kit/CommandFailed.ts"
import { Environment } from "../kit/Environment.ts"
import * as Input from "../kit/Input.ts"
import * as Table from "../kit/Table.ts"
import * as Verb from "../kit/Verb.ts"
import type { Outcome } from "../import/Import.ts"

/** Loaded when it is needed, because the derivation of keys takes longer to load than other commands to run. */
const loaded = Effect.promise(() => import("../import/Import.ts"))

const toggle = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withoutNegation, Flag.withDescription(description), Flag.withDefault(false))

const flags = {
  name: Flag.String("name").pipe(Flag.withDescription("Name of the configuration"), Flag.optional),
  out: Flag.Path("out", { pathType: "either", typeName: "file" }).pipe(
    Flag.withDescription("File to write (default relayers.yaml)"),
    Flag.withDefault("relayers.yaml")
  ),
  keepPausedState: toggle("keep-paused-state", "Do not import all relayers as paused"),
  skipInvalid: toggle("skip-invalid", "Leave out what is invalid, instead of writing nothing"),
  strict: toggle("strict", "End with 1 if something was dropped or is needed"),
  force: toggle("force", "Overwrite the files if they exist")
}

interface ImportFlags {
  readonly name: Option.Option<string>
  readonly out: string
  readonly keepPausedState: boolean
  readonly skipInvalid: boolean
  readonly strict: boolean
  readonly force: boolean
}

/** `relayers.yaml` has its secrets in `relayers.secrets.env`. */
const secretsName = (out: string): string => out.replace(/\.(ya?ml|json)$/, "") + ".secrets.env"

const write = (file: string, text: string, force: boolean, mode?: number) =>
  Effect.try({
    try: () => fs.writeFileSync(file, text, { flag: force ? "w" : "wx", ...(mode === undefined ? {} : { mode }) }),
    catch: (cause) => {
      const exists = cause instanceof Error && "code" in cause && cause.code === "EEXIST"
      const why = cause instanceof Error ? cause.message : String(cause)
      return CommandFailed.usage(exists ? `${file} exists: --force overwrites it` : `cannot write ${file}: ${why}`)
    }
  })

const checkFree = (files: ReadonlyArray<string>, force: boolean) => {
  const taken = force ? [] : files.filter((file) => fs.existsSync(file))
  return taken.length === 0 ? Effect.void : CommandFailed.usage(`${taken.join(" and ")} exists: --force overwrites it`)
}

/** Prints the report, writes the files, and ends with the exit code that the flags ask for. */
const finish = Effect.fnUntraced(function* (result: Result.Result<Outcome, string>, given: ImportFlags) {
  if (Result.isFailure(result)) return yield* CommandFailed.usage(result.failure)
  const { entries, moved, needed, yaml } = result.success
  const rows = entries.map(({ at, code, message }) => [code, at, message])
  if (rows.length > 0) yield* Console.error(Table.lines(rows).join("\n"))
  const invalid = entries.filter(({ code }) => code === "invalid").length
  if (invalid > 0 && !given.skipInvalid) {
    return yield* CommandFailed.usage(
      `${invalid} invalid: nothing was written; correct them, or leave them out with --skip-invalid`
    )
  }
  const secrets = secretsName(given.out)
  yield* checkFree(moved.size === 0 ? [given.out] : [given.out, secrets], given.force)
  yield* write(given.out, yaml, given.force)
  yield* Console.log(`wrote ${given.out}`)
  if (moved.size > 0) {
    if (given.force) yield* Effect.sync(() => fs.rmSync(secrets, { force: true }))
    const ownerOnly = 0o600
    const { secretsFile } = yield* Effect.promise(() => import("../import/Output.ts"))
    yield* write(secrets, secretsFile(moved), given.force, ownerOnly)
    yield* Console.log(`wrote ${secrets}: it contains secrets; add it to .gitignore, and delete it after the move`)
  }
  if (needed.size > 0) yield* Console.log(`${given.out} reads the variables ${[...needed].toSorted().join(", ")}`)
  const lost = entries.filter(({ code }) => code === "dropped" || code === "needs").length
  if (given.strict && lost > 0) {
    return yield* new CommandFailed({ message: `${lost} dropped or needed`, exitCode: exitCodes.refused })
  }
})

const readFile = (name: string) => Effect.map(Input.readText(name), (text) => ({ name, text }))

const openzeppelin = Command.make(
  "openzeppelin",
  {
    file: Argument.Path("config.json", { pathType: "either" }).pipe(Argument.withDescription("Its configuration")),
    envFile: Input.file("env-file").pipe(Flag.withDescription("Its environment file"), Flag.optional),
    allNetworks: toggle("all-networks", "Import networks that no relayer uses"),
    ...flags
  },
  Effect.fnUntraced(function* ({ file, envFile, allNetworks, ...given }) {
    const input = yield* readFile(file)
    const dotEnv = Option.isSome(envFile) ? parseEnv((yield* readFile(envFile.value)).text) : undefined
    const name = Option.getOrElse(given.name, () => path.basename(file).replace(/\.json$/, ""))
    const Import = yield* loaded
    const result = Import.openZeppelin(input, name, {
      folder: ".",
      outFolder: path.dirname(given.out),
      allNetworks,
      keepPausedState: given.keepPausedState,
      ...(dotEnv === undefined ? {} : { dotEnv })
    })
    yield* finish(result, given)
  })
).pipe(
  Verb.about(
    "Import config.json of OpenZeppelin Relayer. Run it in the working directory of that service, because its paths are relative to it.",
    "import openzeppelin config/config.json --env-file .env",
    "import openzeppelin config/config.json --skip-invalid --out imported.yaml"
  )
)

const readList = (file: Option.Option<string>) =>
  Option.match(file, {
    onSome: readFile,
    onNone: () =>
      CommandFailed.usage(
        "the relayers of rrelayer are in its database: read them with curl -u USER:PASSWORD 'http://localhost:3000/relayers?limit=1000&offset=0' -o relayers.json, and add --relayers relayers.json"
      )
  })

const rrelayer = Command.make(
  "rrelayer",
  {
    file: Argument.Path("rrelayer.yaml", { pathType: "either" }).pipe(Argument.withDescription("Its configuration")),
    relayers: Input.file("relayers").pipe(Flag.withDescription("The answer of its list of relayers"), Flag.optional),
    ...flags
  },
  Effect.fnUntraced(function* ({ file, relayers, ...given }) {
    const list = yield* readList(relayers)
    const input = yield* readFile(file)
    const { variables, dotEnv } = yield* Environment
    const Import = yield* loaded
    const result = Import.rrelayer(input, list, Option.getOrUndefined(given.name), {
      keepPausedState: given.keepPausedState,
      variables: { ...dotEnv, ...variables }
    })
    yield* finish(result, given)
  })
).pipe(
  Verb.about(
    "Import rrelayer.yaml of rrelayer, and the list of relayers from its API.",
    "import rrelayer rrelayer.yaml --relayers relayers.json"
  )
)

export const ImportCommand = Command.make("import").pipe(
  Verb.about(
    "Write the configuration of another service as a configuration file of this one. It reports every field that it cannot carry over. `effect-relayer apply` makes a service what the file says.",
    "import openzeppelin config/config.json"
  ),
  Command.withSubcommands([openzeppelin, rrelayer])
)
