// The networks of transactions, which name only their relayer, and the units of their amounts.
import { Effect } from "effect"
import { unitOf } from "../data/Chains.ts"
import { networkList } from "../data/Networks.ts"
import { query } from "../data/Registry.ts"
import { relayerPage } from "../data/Relayers.ts"
import type { Relayer } from "../data/Relayers.ts"
import { may, sessionState } from "../data/Session.ts"
import type { RowChain } from "./TransactionRows.tsx"
import { useAtom, useQuery } from "./useAtom.ts"

/** As many relayers as the API has on a page. The amounts of others on evm networks are shown without a symbol. */
const known = relayerPage("per_page=1000")

const none = query(Effect.succeed({ rows: [] as ReadonlyArray<Relayer> }))

interface OfRelayer {
  readonly relayer_id: string
  readonly network_type: string
}

/** Undefined: they are not read yet, or the session may not read them. */
export const useRelayers = (): ReadonlyArray<Relayer> | undefined => {
  const isAllowed = may(useAtom(sessionState), "relayers:read")
  const { value } = useQuery(isAllowed ? known : none)
  return isAllowed ? value?.rows : undefined
}

export const useChains = (): ((row: OfRelayer) => RowChain) => {
  const relayers = useRelayers()
  const networks = useQuery(networkList).value
  const names: ReadonlyMap<string, string> = new Map(relayers?.map(({ id, network }) => [id, network]))
  return ({ relayer_id, network_type }) => {
    const network = names.get(relayer_id)
    return { unit: unitOf(network_type, network, networks), ...(network === undefined ? {} : { network }) }
  }
}
