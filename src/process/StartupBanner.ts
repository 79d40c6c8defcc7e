// The text that the command prints when it listens: its address and database, and first steps on the first start.
import { Redacted } from "effect"
import * as Examples from "../api/Examples.ts"
import type { Kept } from "./settings/Keys.ts"

const post = (base: string, path: string, body: object) =>
  [
    `  curl -X POST ${base}${path} \\`,
    `    -H "Authorization: Bearer $API_KEY" -H "Content-Type: application/json" \\`,
    `    -d '${JSON.stringify(body)}'`
  ].join("\n")

const { id, name, network, network_type, paused, signer_id } = Examples.requests["post /api/v1/relayers"]

const firstSteps = (base: string, key: Redacted.Redacted) => `
  API key, printed on the first start only:

    ${Redacted.value(key)}

  Create a signer with a new key, create a relayer that uses it, and list the relayers:

  export API_KEY=${Redacted.value(key)}
${post(base, "/api/v1/signers", Examples.requests["post /api/v1/signers"])}
${post(base, "/api/v1/relayers", { id, name, network, network_type, paused, signer_id })}
  curl -H "Authorization: Bearer $API_KEY" ${base}/api/v1/relayers
`

interface Started {
  readonly baseUrl: string
  /** Absent: the operator set an API key. */
  readonly keptApiKey: Kept | undefined
  /** The socket of the embedded database. Absent: another database. */
  readonly socketUrl: string | undefined
}

export const text = ({ baseUrl, keptApiKey, socketUrl }: Started): string => {
  const lines = [`effect-relayer listens on ${baseUrl}   API documents: ${baseUrl}/docs`]
  if (keptApiKey?.made === true) lines.push(firstSteps(baseUrl, keptApiKey.key))
  if (socketUrl !== undefined) lines.push(`  DATABASE_URL for another instance on this machine: ${socketUrl}`)
  if (keptApiKey !== undefined) lines.push(`  The API key is kept in ${keptApiKey.file}`)
  return lines.join("\n")
}
