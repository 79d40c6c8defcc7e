// What the command prints when it listens: where, and on the very first start how to begin.
import { Redacted } from "effect"
import * as Examples from "../api/Examples.ts"
import type { Kept } from "./Keys.ts"

const post = (base: string, path: string, body: object) =>
  [
    `  curl -X POST ${base}${path} \\`,
    `    -H "Authorization: Bearer $API_KEY" -H "Content-Type: application/json" \\`,
    `    -d '${JSON.stringify(body)}'`
  ].join("\n")

const { id, name, network, network_type, paused, signer_id } = Examples.requests["post /api/v1/relayers"]

const firstSteps = (base: string, key: Redacted.Redacted) => `
  API key, shown this once:

    ${Redacted.value(key)}

  A signer whose key is made inside, a relayer with it, and the list:

  export API_KEY=${Redacted.value(key)}
${post(base, "/api/v1/signers", Examples.requests["post /api/v1/signers"])}
${post(base, "/api/v1/relayers", { id, name, network, network_type, paused, signer_id })}
  curl -H "Authorization: Bearer $API_KEY" ${base}/api/v1/relayers
`

/** `apiKey`: absent where the operator has set one. */
export const text = (base: string, apiKey: Kept | undefined): string => {
  const lines = [`effect-relayer listens on ${base}   API documents: ${base}/docs`]
  if (apiKey?.made === true) lines.push(firstSteps(base, apiKey.key))
  if (apiKey !== undefined) lines.push(`  The API key is kept in ${apiKey.file}`)
  return lines.join("\n")
}
