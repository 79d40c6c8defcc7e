// Shuffles items by weight: an item with a larger weight comes first more often.
import { Effect, Order, Random } from "effect"

/**
 * The probability that an item comes first is its share of all weights. The same holds for the second item among the rest,
 * and so on (Efraimidis and Spirakis). Items with weight 0 are omitted.
 */
export const shuffle = <A extends { readonly weight: number }>(
  items: ReadonlyArray<A>
): Effect.Effect<ReadonlyArray<A>> =>
  Effect.forEach(
    items.filter(({ weight }) => weight > 0),
    (item) => Effect.map(Random.next, (random) => ({ item, rank: -Math.log(1 - random) / item.weight }))
  ).pipe(Effect.map((ranked) => ranked.sort(Order.mapInput(Order.Number, ({ rank }) => rank)).map(({ item }) => item)))
