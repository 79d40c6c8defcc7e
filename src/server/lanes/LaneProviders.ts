// The providers of a lane on a network whose chains are told apart by their first block. They are kept as long as the lane is held, so
// that the same node answers from poll to poll.
import { Effect } from "effect"

/** What a lane remembers of its chain and of those who answer for it. */
export interface ProviderMemory<P> {
  /** Hash of the first block. Undefined: no poll has stored it yet. */
  genesis: string | undefined
  /** By genesis hash and `LaneRelayer.urlsKey`. */
  readonly providers: Map<string, P>
}

interface ProvenProviders {
  /** Hash of the first block, once it is known. */
  readonly genesis: Effect.Effect<string | undefined>
}

const keyOf = (genesis: string, urlsKey: string) => `${genesis} ${urlsKey}`

/** `make`: new providers, which have to prove that they are on the chain of the lane. */
export const of = Effect.fnUntraced(function* <P extends ProvenProviders>(
  { genesis = "", providers }: ProviderMemory<P>,
  urlsKey: string,
  make: Effect.Effect<P>
) {
  const found = providers.get(keyOf(genesis, urlsKey))
  if (found !== undefined) return found
  // Those of the first poll of a lane have found the first block themselves: they are proven to be on this chain.
  const first = providers.get(keyOf("", urlsKey))
  const isSame = first !== undefined && (yield* first.genesis) === genesis
  const made = isSame ? first : yield* make
  providers.set(keyOf(genesis, urlsKey), made)
  return made
})
