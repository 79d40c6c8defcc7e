// The providers of relayers, for requests: they are chosen and checked once, and kept for the next requests.
import { Cache, Duration, Effect } from "effect"

/** How many sets of providers are kept, and for how long. The restart of a test chain is noticed after this time. */
const capacity = 1000
const kept = Duration.minutes(1)

/** `place`: what the providers follow from, as JSON has it. */
export const make = <Place, P>(choose: (place: Place) => Effect.Effect<P>) =>
  Effect.map(
    Cache.make<string, P>({
      capacity,
      timeToLive: kept,
      lookup: (key) => choose(JSON.parse(key) as Place)
    }),
    (cache) => (place: Place) => Cache.get(cache, JSON.stringify(place))
  )
