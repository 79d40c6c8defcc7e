// The text that the command prints when it listens: its address and database, and first steps on the first start.
import { Redacted } from "effect"
import * as path from "node:path"
import * as Examples from "../api/Examples.ts"
import { running } from "./Running.ts"
import type { Database } from "../sql/Sql.ts"
import type { Kept } from "./settings/Keys.ts"

const post = (base: string, path: string, body: object) =>
  [
    `  curl -X POST ${base}${path} \\`,
    `    -H "Authorization: Bearer $API_KEY" -H "Content-Type: application/json" \\`,
    `    -d '${JSON.stringify(body)}'`
  ].join("\n")

const get = (base: string, path: string) => `  curl -H "Authorization: Bearer $API_KEY" ${base}${path}`

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

const { id, name, network, network_type, paused, signer_id } = Examples.requests["post /api/v1/relayers"]

const firstSteps = (base: string, file: string) => `
  To try everything on this machine, with a local chain and a relayer that sends: npm run dev   (of a package: npx effect-relayer dev)

  First steps on a public test network: create a signer with a new key, create a relayer on ${network} that uses it, list the relayers,
  and read what it needs. The relayer is disabled until a check reaches ${network} and finds funds at its address: the last command
  says which of them is missing, and what to send where. "rpc_urls" of the network evm:${network} replaces the built-in public RPC URLs.

  export API_KEY=$(cat ${quoted(file)})
${post(base, "/api/v1/signers", Examples.requests["post /api/v1/signers"])}
${post(base, "/api/v1/relayers", { id, name, network, network_type, paused, signer_id })}
${get(base, "/api/v1/relayers")}
${get(base, `/api/v1/relayers/${id}/explain`)}
`

/** Elsewhere than on a terminal, such as in a log that is kept, only the file is named. */
const keyLines = (key: Redacted.Redacted) => `
  API key, printed on the first start only:

    ${Redacted.value(key)}`

interface Started {
  readonly baseUrl: string
  readonly database: Pick<Database, "embedded" | "files" | "place" | "socketUrl">
  /** Absent: the operator set an API key. */
  readonly keptApiKey: Kept | undefined
  readonly isTerminal: boolean
  readonly hasConsole: boolean
}

const databaseOf = ({ embedded, files, place }: Started["database"]): string => {
  if (!embedded) return `PostgreSQL at ${place}`
  const folder = path.resolve(place)
  const isElsewhere = files !== undefined && files !== path.join(folder, "postgres")
  return isElsewhere ? `embedded PostgreSQL of ${folder} in ${files}` : `embedded PostgreSQL in ${folder}`
}

export const text = ({ baseUrl, database, hasConsole, isTerminal, keptApiKey }: Started): string => {
  const lines = [
    `effect-relayer listens on ${baseUrl}   version ${running}   ${databaseOf(database)}`,
    ...(hasConsole ? [`  Console: ${baseUrl}/console   sign in with the API key`] : []),
    `  API documents: ${baseUrl}/docs`
  ]
  if (keptApiKey?.made === true) {
    if (isTerminal) lines.push(keyLines(keptApiKey.key))
    lines.push(firstSteps(baseUrl, keptApiKey.file))
  }
  if (database.socketUrl !== undefined) {
    lines.push(`  DATABASE_URL for another instance on this machine: ${database.socketUrl}`)
  }
  if (keptApiKey !== undefined) lines.push(`  The API key is kept in ${keptApiKey.file}`)
  return lines.join("\n")
}
