// `import`: writes the configuration of another service as a configuration file of this one. It calls no service.
import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as path from "node:path"
import { parseEnv } from "node:util"
import { Environment } from "../../../src/cli/kit/Environment.ts"
import { CommandFailed, pathFlag, readText } from "../../../src/cli/kit/Terminal.ts"
import * as Verb from "../../../src/cli/kit/Verb.ts"
import { ConfigurationName } from "../../../src/domain/configuration/Document.ts"
import * as LiveService from "./LiveService.ts"
import * as Writing from "./Writing.ts"
import * as SchemaLine from "../../../src/cli/configuration/SchemaLine.ts"

const isName = Schema.is(ConfigurationName)

/** Loaded when it is needed, because the derivation of keys takes longer to load than other commands to run. */
const loaded = Effect.promise(() => import("./Import.ts"))

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

const readFile = (name: string) => Effect.map(readText(name), (text) => ({ name, text }))

const live = (description: string) =>
  Flag.String("live").pipe(Flag.withMetavar("<url>"), Flag.withDescription(description), Flag.optional)

const insecure = toggle("insecure", "Send the credentials of --live over http to a host that is not this machine")

/**
 * The old service has one name for every configuration, `config.json`, often in a folder `config`: the folder around them tells two
 * services apart. Undefined: the folder has no name that a configuration can have.
 */
const nameFor = (file: string): string | undefined => {
  const base = path.basename(file).replace(/\.json$/, "")
  const outer = path.dirname(path.resolve(file)).split(path.sep)
  const folder = outer.findLast((name) => name !== "config")
  return base !== "config" ? base : folder !== undefined && isName(folder) ? folder : undefined
}

const openZeppelinLive = Effect.fnUntraced(function* (
  url: string,
  dotEnv: Readonly<Record<string, string | undefined>> | undefined,
  insecure: boolean
) {
  const key = (yield* Environment.read("OPENZEPPELIN_API_KEY")) ?? dotEnv?.["API_KEY"]
  if (key === undefined) {
    return yield* CommandFailed.usage("--live: set OPENZEPPELIN_API_KEY, or name its environment file with --env-file")
  }
  return yield* LiveService.openZeppelin(yield* LiveService.open(url, `Bearer ${key}`, insecure))
})

const openzeppelin = Command.make(
  "openzeppelin",
  {
    file: Argument.Path("config.json", { pathType: "either" }).pipe(Argument.withDescription("Its configuration")),
    envFile: pathFlag("env-file").pipe(Flag.withDescription("Its environment file"), Flag.optional),
    networks: Flag.Path("networks", { pathType: "directory", typeName: "folder" }).pipe(
      Flag.withDescription("The folder of its networks, if it is not where the configuration says"),
      Flag.optional
    ),
    allNetworks: toggle("all-networks", "Import networks that no relayer uses"),
    live: live(
      "Its URL. Its relayers are read by its API, with OPENZEPPELIN_API_KEY or the API_KEY of its environment file"
    ),
    insecure,
    ...flags
  },
  Effect.fnUntraced(function* ({ file, envFile, networks, allNetworks, live, insecure, ...given }) {
    const input = yield* readFile(file)
    const dotEnv = Option.isSome(envFile) ? parseEnv((yield* readFile(envFile.value)).text) : undefined
    const running = Option.isSome(live) ? yield* openZeppelinLive(live.value, dotEnv, insecure) : undefined
    const name = Option.getOrElse(given.name, () => nameFor(file))
    if (name === undefined) {
      return yield* CommandFailed.usage("--name: is required, because the folder's name cannot name a configuration")
    }
    const Import = yield* loaded
    const options = {
      folder: ".",
      outFolder: path.dirname(given.out),
      schema: SchemaLine.schemaFor(given.out, SchemaLine.beside),
      allNetworks,
      keepPausedState: given.keepPausedState,
      skipInvalid: given.skipInvalid,
      ...(Option.isSome(networks) ? { networksFolder: networks.value } : {}),
      ...(dotEnv === undefined ? {} : { dotEnv })
    }
    yield* Writing.finish(Import.openZeppelin(input, name, options, running), given, Option.getOrUndefined(envFile))
  })
).pipe(
  Verb.about(
    "Import config.json of OpenZeppelin Relayer. Run it in the working directory of that service, because its paths are relative to it.",
    "import openzeppelin config/config.json --env-file .env",
    "import openzeppelin config/config.json --skip-invalid --out imported.yaml",
    "import openzeppelin config/config.json --env-file .env --live http://localhost:8080"
  )
)

const rrelayerLive = Effect.fnUntraced(function* (url: string, insecure: boolean) {
  const username = yield* Environment.read("RRELAYER_AUTH_USERNAME")
  const password = yield* Environment.read("RRELAYER_AUTH_PASSWORD")
  if (username === undefined || password === undefined) {
    return yield* CommandFailed.usage(
      "--live: set RRELAYER_AUTH_USERNAME and RRELAYER_AUTH_PASSWORD, as rrelayer has them"
    )
  }
  const login = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`
  return yield* LiveService.rrelayer(yield* LiveService.open(url, login, insecure))
})

const readList = (file: Option.Option<string>, live: Option.Option<string>, insecure: boolean) => {
  if (Option.isSome(file) && Option.isSome(live)) return CommandFailed.usage("use --relayers or --live, not both")
  if (Option.isSome(file)) return readFile(file.value)
  if (Option.isSome(live)) return rrelayerLive(live.value, insecure)
  return CommandFailed.usage(
    "the relayers of rrelayer are in its database: read them with curl -u USER:PASSWORD 'http://localhost:3000/relayers?limit=1000&offset=0' -o relayers.json, and add --relayers relayers.json; or read them with --live http://localhost:3000"
  )
}

const rrelayer = Command.make(
  "rrelayer",
  {
    file: Argument.Path("rrelayer.yaml", { pathType: "either" }).pipe(Argument.withDescription("Its configuration")),
    relayers: pathFlag("relayers").pipe(Flag.withDescription("The answer of its list of relayers"), Flag.optional),
    live: live("Its URL. Its relayers are read by its API, with RRELAYER_AUTH_USERNAME and RRELAYER_AUTH_PASSWORD"),
    insecure,
    ...flags
  },
  Effect.fnUntraced(function* ({ file, relayers, live, insecure, ...given }) {
    const list = yield* readList(relayers, live, insecure)
    const input = yield* readFile(file)
    const { variables, dotEnv } = yield* Environment
    const Import = yield* loaded
    const result = Import.rrelayer(input, list, Option.getOrUndefined(given.name), {
      keepPausedState: given.keepPausedState,
      skipInvalid: given.skipInvalid,
      schema: SchemaLine.schemaFor(given.out, SchemaLine.beside),
      variables: { ...dotEnv, ...variables }
    })
    yield* Writing.finish(result, given)
  })
).pipe(
  Verb.about(
    "Import rrelayer.yaml of rrelayer, and the list of relayers from its API.",
    "import rrelayer rrelayer.yaml --relayers relayers.json",
    "import rrelayer rrelayer.yaml --live http://localhost:3000"
  )
)

export const ImportCommand = Command.make("import").pipe(
  Verb.about(
    "Write the configuration of another service as a configuration file of this one. It reports every field that it cannot carry over. `effect-relayer apply` makes a service what the file says.",
    "import openzeppelin config/config.json"
  ),
  Command.withSubcommands([openzeppelin, rrelayer])
)
