// An order by weight: who weighs more is more often before others.
import { Effect, Order, Random } from "effect"

/**
 * The first one is chosen with a chance of its share of all weights, the second one of those that are left, and so on
 * (Efraimidis and Spirakis). What has no weight is left out.
 */
export const shuffle = <A extends { readonly weight: number }>(
  items: ReadonlyArray<A>
): Effect.Effect<ReadonlyArray<A>> =>
  Effect.forEach(
    items.filter(({ weight }) => weight > 0),
    (item) => Effect.map(Random.next, (random) => ({ item, rank: -Math.log(1 - random) / item.weight }))
  ).pipe(Effect.map((ranked) => ranked.sort(Order.mapInput(Order.Number, ({ rank }) => rank)).map(({ item }) => item)))
