// Blockhashes and their bounds, as two providers that may lag or lie give them.
import { boundOf, boundOfOwn } from "../../../../../src/networks/solana/rules/RequestBytes.ts"
import type { Lifetime } from "../../../../../src/networks/solana/rules/SolanaSeen.ts"
import { life } from "./Chain.ts"
import type { Provider } from "./Provider.ts"
import type { Random } from "./Random.ts"
import type { Setting } from "./Setting.ts"

interface Sources {
  readonly setting: Setting
  readonly random: Random
  readonly providers: ReadonlyArray<Provider>
}

/** Stands for 100 to 600 blocks. */
const lives = { minimum: life - 2, maximum: 4 * life }

/** A blockhash for new bytes. `isAlone`: no other provider has an opinion at present. */
export const lifetimeOf = ({ random, providers, setting }: Sources, isAlone: boolean): Lifetime => {
  const from = random.pick(providers)
  const pair = from.pair()
  if (pair === undefined) return "unavailable"
  const { hash: blockhash, lastValid, height, slot } = pair
  if (setting.without.secondBound === true) return { blockhash, bound: lastValid + 1, signedSlot: slot }
  const others = providers.length === 1 ? providers : providers.filter((provider) => provider !== from)
  const known = others.map((other) => other.second(blockhash)).filter((second) => second !== undefined)
  if (known.length === 0 && !isAlone) return "unavailable"
  const itself = { isValid: true, height, life: lastValid - height }
  const bound = boundOf({ lastValid, height }, known.length === 0 ? [itself] : known, lives)
  return bound === undefined ? "unavailable" : { blockhash, bound, signedSlot: slot }
}

/** The blockhash that a prebuilt request brings. */
export const ownLifetime = (
  { providers }: Pick<Sources, "providers">,
  blockhash: string,
  isAlone: boolean
): Lifetime => {
  const answers = providers.map((provider) => provider.second(blockhash))
  return boundOfOwn(
    blockhash,
    answers.filter((answer) => answer !== undefined),
    isAlone ? 1 : Math.min(2, providers.length),
    lives
  )
}
