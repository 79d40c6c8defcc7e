// Tells apart what responses and events of different network types have.
import type { NetworkType } from "../domain/network/Network.ts"

/**
 * Whether a transaction, or anything else with a `network_type`, is of this network type. After a comparison of `network_type`
 * alone, TypeScript still counts transactions of types that only a newer service knows, because theirs is any string.
 *
 * ```ts
 * const { data } = yield* transactions.get({ params, query: {} })
 * if (isOfNetwork("evm", data)) console.log(data.nonce, data.gas_used)
 * ```
 */
export const isOfNetwork = <Type extends NetworkType, Item extends { readonly network_type: string }>(
  type: Type,
  item: Item
): item is Extract<Item, { readonly network_type: Type }> => item.network_type === type
