// What callers get if no provider of a relayer answers.
import { maskUrl } from "../../domain/chain/Rpc.ts"
import { BadGateway } from "../../domain/request/Request.ts"
import type { NoProvider } from "../chains/Providers.ts"

export const unanswered = (what: string) => new BadGateway({ error: `no provider of the relayer ${what}` })

/** Each provider with its failure. */
export const toBadGateway = ({ failures }: NoProvider): BadGateway => {
  const texts = failures.map(({ url, failure }) => `${maskUrl(url)}: ${failure.text}`)
  return new BadGateway({
    error: texts.length === 0 ? "no RPC URL of the relayer has a weight above 0" : texts.join("; ")
  })
}
