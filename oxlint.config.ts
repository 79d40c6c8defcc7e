// The rules of the linter. `floors` and `rings` are the architecture that docs/architecture.md describes. The linter is
// installed in tools/checkers, so that its types are not available here.
import { readdirSync } from "node:fs"

/** The features of `src/server/`, from the lowest floor to the highest. A feature imports only from floors below its own. */
const floors: ReadonlyArray<ReadonlyArray<string>> = [
  ["responses"],
  ["authentication", "observability"],
  ["lifecycle", "secrets"],
  ["cursors", "idempotency", "limits"],
  ["audit", "chains", "events", "outbox", "prices"],
  ["changes"],
  ["access", "claims", "ledger", "masterKey", "networks", "notifications", "signers"],
  ["console", "relayers"],
  ["health", "lanes"],
  ["attention", "search", "transactions", "configuration"],
  ["http"]
]

interface Restriction {
  readonly group?: Array<string>
  readonly regex?: string
  readonly message: string
}

const restrict = (files: string, ...patterns: ReadonlyArray<Restriction>) => ({
  files: [files],
  rules: { "no-restricted-imports": ["error", { patterns }] }
})

type Override = ReturnType<typeof restrict>

/** A folder of `src/`, as relative imports of another folder name it. */
const folders = (...names: ReadonlyArray<string>) => names.flatMap((name) => [`**/${name}/**`, `**/${name}.ts`])

const networkTypes = ["evm", "solana", "stellar"]

const otherTypes = (type: string) => networkTypes.filter((other) => other !== type)

const noNetwork = (...types: ReadonlyArray<string>): Restriction => ({
  regex: `(^|/)(${types.join("|")})/`,
  message:
    "What is not in the folder of a network type is for all of them, and what is in such a folder is for no other network type."
})

const domainAlone: Restriction = {
  regex:
    "^(node:|@|viem|redis|effect/|(\\.\\./)+(api|server|sql|outbound|threads|process|cli|client|main|packages)[/.])",
  message: "domain/ and the rules of networks import effect and each other, nothing else."
}

const onlyRules: Restriction = {
  regex: "^\\.\\./(chain|lane|requests)/|networks/\\w+/(chain|lane|requests)/",
  message: "domain/ and the rules of networks are pure."
}

/** The rules of networks are pure, as the domain is. Only `domain/index.ts` names the network types. */
const domain: ReadonlyArray<Override> = [
  restrict("src/domain/index.ts", domainAlone, onlyRules),
  restrict("src/domain/*/**", domainAlone, noNetwork(...networkTypes)),
  // The checksum of an address is a hash.
  restrict("src/domain/chain/MistypedAddresses.ts", noNetwork(...networkTypes)),
  restrict("src/networks/core/**", domainAlone, noNetwork(...networkTypes)),
  ...networkTypes.map((type) =>
    restrict(`src/networks/${type}/rules/**`, domainAlone, onlyRules, noNetwork(...otherTypes(type)))
  )
]

const bundled: Restriction = {
  regex:
    "^(node:|@|viem|redis|effect/([a-gi-z]|http-[b-z])|\\.\\./(server|sql|outbound|threads|process|cli|client|main|packages))|networks/\\w+/(chain|lane|requests)/",
  message:
    "api/ and client/ import effect, effect/http, effect/http-api, domain/, rules of networks and api/: a client may bundle them."
}

const processOnly: Restriction = {
  group: folders("cli", "main", "packages"),
  message: "process/ is used by the commands, and knows none of them."
}

const rings: ReadonlyArray<Override> = [
  ...domain,
  // Only the contract names network types: the groups of endpoints, and the bodies of webhooks.
  restrict("src/api/**", bundled, noNetwork(...networkTypes)),
  restrict("src/api/*Api.ts", bundled),
  restrict("src/client/**", bundled),
  // Tests of host programs load it: no server, and of the networks the rules alone. A file names types of the server, for the services that it
  // stands in for; `test/testkit/host/Kit.test.ts` shows that none of its modules is loaded.
  restrict("src/testkit/**", {
    regex:
      "^(node:|@effect|@s|viem|redis|effect/([a-gi-su-z]|http-|sql))|\\.\\./(sql|outbound|threads|process|cli|client|main|packages|index)[/.]|networks/\\w+/(chain|lane|requests|index)",
    message: "testkit/ imports effect, effect/http, effect/testing, @noble, domain/ and rules of networks."
  }),
  // This folder is for programs without Effect.
  restrict("src/client/node/**", {
    regex: "^(@|effect|viem|redis|node:([abd-z]|c[a-qs-z]))|/(server|sql|outbound|threads|process|cli|api|main)",
    message: "client/node/ imports node:crypto, and modules without dependencies."
  }),
  restrict("src/sql/**", {
    group: [
      ...folders("domain", "networks", "api", "server", "client", "outbound", "threads", "process", "cli", "packages"),
      "effect/http",
      "effect/http-api",
      "@effect/platform-node"
    ],
    message: "sql/ knows the database and nothing of the features."
  }),
  restrict("src/outbound/**", {
    group: folders(
      "domain",
      "networks",
      "api",
      "server",
      "client",
      "sql",
      "threads",
      "process",
      "cli",
      "main",
      "packages"
    ),
    message: "outbound/ knows addresses and HTTP, and nothing of the features."
  }),
  restrict("src/threads/**", {
    group: folders(
      "domain",
      "networks",
      "api",
      "server",
      "client",
      "sql",
      "outbound",
      "process",
      "cli",
      "main",
      "packages"
    ),
    message: "threads/ computes, and knows nothing of the features."
  }),
  restrict("src/process/**", processOnly, noNetwork(...networkTypes)),
  // Only this file of the process names the network types.
  restrict("src/process/Networks.ts", processOnly)
]

/** The package of the import reads only the built-in networks of the server. The command bundles it, so that it has no entry of its own. */
const imports = restrict("packages/import/src/**", {
  regex: `/src/(sql|process|threads|client|main|index|cli/(commands|Cli|Main)|server/(networks/[^b]|${floors
    .flat()
    .filter((name) => name !== "networks")
    .join("|")}))([/.]|$)`,
  message:
    "The import reads files of other services by the schemas of domain/, and knows neither the server nor the process."
})

/** A package that is installed apart, so that it has nothing of this repository. */
const signers = restrict("packages/signer-pkcs11/src/**", {
  regex: "^(@|effect|viem|redis|node:([abd-z]|c[a-qs-z]))|^\\.\\./",
  message: "packages/signer-pkcs11/ imports node:crypto and itself."
})

/** A package that is installed apart, on the client or on the Layers of the service. */
const facilitator: ReadonlyArray<Override> = [
  restrict("packages/x402/src/**", {
    regex: "^(@([a-df-z]|effect/)|redis|effect/|effect-relayer|node:([a-gi-z]|http[2s]))|^\\.\\./",
    message: "packages/x402/ imports effect, viem, types of node:http and itself."
  }),
  restrict("packages/x402/src/layers.ts", {
    regex: "^(@|redis|effect/|node:)|^\\.\\./",
    message: "layers.ts imports effect, effect-relayer and its package."
  })
]

/** The console is a client like any other: it knows the contract, not the server, and nothing that only this repository has. */
const consoleOnly = (message: string, ...foreign: ReadonlyArray<string>): Restriction => ({
  regex: [
    "^(node:|@|viem)",
    "/src/(server|sql|outbound|threads|process|cli|main|index|networks/\\w+/(chain|lane|requests))([/.]|$)",
    "^(\\.\\./)+(bench|faults|node_modules|scripts|test|testkit|tools)/",
    ...foreign
  ].join("|"),
  message
})

const web: ReadonlyArray<Override> = [
  restrict("web/src/**", consoleOnly("web/ imports the contract: src/api, src/domain and src/client.")),
  restrict("web/src/parts/**", consoleOnly("A part knows no page and no API.", "\\.\\./pages/", "\\.\\./data/Client")),
  restrict("web/src/data/**", consoleOnly("data/ knows no page and no part.", "^preact", "\\.\\./(pages|parts)/"))
]

const anyHost: Restriction = {
  group: ["@effect/**", "node:*", "!node:crypto", ...folders("process", "cli", "main", "packages")],
  message: "server/ runs in any host program: Node and the environment stay in process/ and main.ts."
}

/** Features have subfolders, so that the names of the other features decide, not the depth of the path. */
const foreignRepository = (name: string): Restriction => ({
  regex: `^(\\.\\./)+(${floors
    .flat()
    .filter((other) => other !== name)
    .join("|")})/.*Repo\\.ts$`,
  message: "A feature calls the service of another feature, not its repository."
})

const noRepository: Restriction = {
  group: ["**/*Repo.ts"],
  message: "A handler calls its service, not the repository."
}

/** Files of a feature. The folder `src/networks/` of rooms has the name of a feature, and no file of its own. */
const filesOf = (name: string): string => (name === "networks" ? "networks/\\w+\\.ts" : `${name}/`)

const below = (floor: number): Restriction => ({
  regex: `^(\\.\\./)+(server/)?(${floors.slice(floor).flat().map(filesOf).join("|")})`,
  message: "A feature imports only from lower floors: oxlint.config.ts lists them."
})

/** A later entry for the same file replaces an earlier one, so that each entry lists all restrictions. */
const feature = (name: string, floor: number): ReadonlyArray<Override> => {
  const common = [anyHost, below(floor), noNetwork(...networkTypes)]
  return [
    restrict(`src/server/${name}/**`, ...common, foreignRepository(name)),
    restrict(`src/server/${name}/**/*Http.ts`, ...common, noRepository)
  ]
}

const floorOf = (name: string): number => floors.findIndex((names) => names.includes(name))

const noRepositoryOfServer: Restriction = {
  regex: "server/.*Repo\\.ts$",
  message: "A network calls the service of a feature, not its repository."
}

const notAbove = (...parts: ReadonlyArray<string>): Restriction => ({
  regex: `^\\.\\./(${parts.join("|")})/`,
  message:
    "In the room of a network, requests import lane, chain and rules, lane imports chain and rules, and chain imports rules."
})

/** The room of a network type. Each part imports the feature that it is a part of, and lower floors. */
const room = (type: string): ReadonlyArray<Override> => {
  const common = [anyHost, noNetwork(...otherTypes(type)), noRepositoryOfServer]
  return [
    restrict(`src/networks/${type}/chain/**`, ...common, below(floorOf("chains") + 1), notAbove("lane", "requests")),
    restrict(`src/networks/${type}/lane/**`, ...common, below(floorOf("lanes") + 1), notAbove("requests")),
    restrict(`src/networks/${type}/requests/**`, ...common, below(floorOf("transactions") + 1)),
    restrict(`src/networks/${type}/index.ts`, ...common)
  ]
}

const unplaced = readdirSync("src/server", { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !floors.flat().includes(entry.name))
  .map(({ name }) => name)
if (unplaced.length > 0) throw new Error(`src/server/${unplaced.join(", ")}: give it a floor in oxlint.config.ts`)

export default {
  plugins: ["typescript", "unicorn", "oxc", "import"],
  categories: {
    correctness: "error",
    suspicious: "error",
    perf: "error"
  },
  ignorePatterns: ["dist", "/data"],
  rules: {
    // A circle of types hides in which file the type belongs, as one of values does.
    "import/no-cycle": ["error", { ignoreTypes: false }],
    "import/no-unassigned-import": "off",
    "typescript/no-explicit-any": "error",
    "typescript/consistent-type-imports": "error",
    "typescript/ban-ts-comment": "error",
    // A file is a concept of 150 to 500 lines, with some room. It has no lower limit: merge fragments by reading them.
    "max-lines": ["error", { max: 600 }],
    "no-console": "error",
    "no-await-in-loop": "off",
    "no-shadow": "off",
    "no-underscore-dangle": "off",
    "oxc/no-map-spread": "off",
    "unicorn/consistent-function-scoping": "off",
    "unicorn/no-array-sort": "off",
    // A `BroadcastChannel`, which the console posts to, has no target.
    "unicorn/require-post-message-target-origin": "off"
  },
  overrides: [
    ...rings,
    ...web,
    imports,
    signers,
    ...facilitator,
    restrict("src/server/*.ts", anyHost, noNetwork(...networkTypes)),
    ...floors.flatMap((names, floor) => names.flatMap((name) => feature(name, floor))),
    ...networkTypes.flatMap(room),
    // All texts of the console are in one file, so that they can be translated.
    { files: ["web/src/words.ts"], rules: { "max-lines": "off" } },
    // Programs of users print what they find.
    { files: ["examples/**/*.mjs"], rules: { "no-console": "off" } },
    {
      files: ["src/**", "packages/*/src/**"],
      excludeFiles: ["src/main.ts"],
      rules: {
        "no-restricted-properties": [
          "error",
          { object: "process", property: "env", message: "Only main.ts reads the environment." }
        ]
      }
    }
  ]
}
