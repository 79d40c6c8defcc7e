// The providers of a relayer, kept as long as the lane is held: the same node answers from poll to poll.
import { Effect } from "effect"
import type { Work } from "./LaneContext.ts"
import type { LaneRelayer } from "./LaneRelayers.ts"

export const of = Effect.fnUntraced(function* ({ context, genesis }: Work, { urlsKey, urls, numbers }: LaneRelayer) {
  const { memory, nodes } = context
  const key = `${genesis ?? ""} ${urlsKey}`
  const found = memory.providers.get(key)
  if (found !== undefined) return found
  const identity = { chainId: numbers.chainId, ...(genesis === undefined ? {} : { genesis }) }
  const providers = yield* nodes.providers(urls, identity)
  memory.providers.set(key, providers)
  return providers
})
