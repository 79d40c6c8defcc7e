// `export`: prints what the service has as a configuration file.
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { ConfigurationName } from "../../domain/configuration/Kinds.ts"
import { toggle } from "../configuration/Given.ts"
import * as Planned from "../configuration/Planned.ts"
import * as Connection from "../kit/Connection.ts"
import * as Print from "../kit/Print.ts"
import * as Verb from "../kit/Verb.ts"

/** Loaded when it is needed, because the parser takes longer to load than other commands to run. */
const loaded = Effect.promise(() => import("../configuration/Export.ts"))

export const ExportCommand = Command.make(
  "export",
  {
    ...Connection.flags,
    name: Flag.String("name").pipe(
      Flag.withSchema(ConfigurationName),
      Flag.withDescription("Name of the configuration")
    ),
    all: toggle("all", "Everything that the service has, as the start of a configuration of this name"),
    envNames: toggle("env-names", "Write names of variables for secrets and hidden URLs, for another installation"),
    output: Flag.Literals("output", ["yaml", "json"]).pipe(
      Flag.withAlias("o"),
      Flag.withDescription("Output format (default yaml)"),
      Flag.withDefault("yaml")
    )
  },
  Effect.fnUntraced(function* ({ name, all, envNames, output, ...connection }) {
    const { baseUrl } = yield* Connection.open(connection)
    const run = yield* Planned.open(connection)
    const request = { params: { configuration: name }, query: { all } }
    const { value } = yield* run((client) => client.configuration.document(request)).pipe(
      Effect.catch((error) =>
        Effect.flatMap(all ? Planned.explained(error, baseUrl) : Effect.succeed(error), Effect.fail)
      )
    )
    const { toYaml, withVariables } = yield* loaded
    const { document, variables } = envNames
      ? withVariables(value.data.document)
      : { document: value.data.document, variables: [] }
    if (output === "json") yield* Print.json(document)
    else yield* Console.log(toYaml(document, value.data.remarks, baseUrl).trimEnd())
    if (variables.length > 0) yield* Console.error(`the file reads the variables ${variables.join(", ")}`)
  })
).pipe(
  Verb.about(
    "Print what the service has as a configuration file. Secrets are references to what is stored; a plan of the file has no changes.",
    "export --all --name first > relayers.yaml",
    "export --name payments"
  )
)
