// The networks of transactions, which name only their relayer, and the units of their amounts.
import { Effect } from "effect"
import { unitOf } from "../data/Chains.ts"
import { networkList } from "../data/Networks.ts"
import type { ListPage } from "../data/Pages.ts"
import { query } from "../data/Registry.ts"
import { relayerPage } from "../data/Relayers.ts"
import type { Relayer } from "../data/Relayers.ts"
import { may, sessionState } from "../data/Session.ts"
import type { RowChain } from "./TransactionRows.tsx"
import { useAnswered, useAtom, useQuery } from "./useAtom.ts"

/** As many relayers as the API has on a page. The amounts of others on evm networks are shown without a symbol. */
const known = relayerPage("per_page=1000")

const none = query(Effect.succeed<ListPage<Relayer>>({ rows: [], unreadable: [] }))

interface OfRelayer {
  readonly relayer_id: string
  readonly network_type: string
}

const useFirst = () => {
  const isAllowed = may(useAtom(sessionState), "relayers:read")
  const query = useQuery(isAllowed ? known : none)
  return { query, page: isAllowed ? query.value : undefined }
}

/** Undefined: they are not read yet, or the session may not read them. */
export const useRelayers = (): ReadonlyArray<Relayer> | undefined => useFirst().page?.rows

/** To choose one of them. `rows`: undefined unless all of them are known. `isAnswered`: the service has answered, or refused to. */
export const useAllRelayers = (): { readonly rows?: ReadonlyArray<Relayer>; readonly isAnswered: boolean } => {
  const { query, page } = useFirst()
  const isAnswered = useAnswered(query)
  return page === undefined || page.next !== undefined ? { isAnswered } : { isAnswered, rows: page.rows }
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
